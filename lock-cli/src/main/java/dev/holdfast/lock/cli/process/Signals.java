package dev.holdfast.lock.cli.process;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import sun.misc.Signal;
import sun.misc.SignalHandler;

/**
 * The signals that would end this process. They go to the program while there is one, unless it has received them with its process
 * group. While there is none, they interrupt the waiting thread. A signal that was ignored when this process began, as by {@code nohup},
 * stays ignored. Thread-safe.
 */
public final class Signals {
    private final ReentrantLock mutex = new ReentrantLock();
    private final Thread waiting;
    private final boolean allEnd;
    private @Nullable GuardedProcess program;
    private @Nullable PosixSignal asked;
    private long askedNanos;

    Signals(Thread waiting, boolean allEnd) {
        this.allEnd = allEnd;
        this.waiting = waiting;
    }

    /**
     * Begins to receive all signals that would end this process and that Java lets a program catch. QUIT is not among them: Java
     * keeps it for itself, and the launcher has it ignored.
     *
     * @param allEnd whether every signal without a program asks to end; otherwise TERM and INT do, and the others are ignored
     * @return what came, and where it goes; from now on the calling thread is interrupted by a signal without a program
     */
    public static Signals receive(boolean allEnd) {
        Signals signals = new Signals(Thread.currentThread(), allEnd);
        EnumSet.complementOf(EnumSet.of(PosixSignal.KILL)).forEach(signals::receive);
        return signals;
    }

    private void receive(PosixSignal signal) {
        try {
            Signal posix = new Signal(signal.name());
            if (Signal.handle(posix, received -> came(signal)) == SignalHandler.SIG_IGN) {
                Signal.handle(posix, SignalHandler.SIG_IGN);
            }
        } catch (IllegalArgumentException e) {
            // This system has no such signal, or Java uses it.
        }
    }

    /**
     * Sends signals to a program from now on, and the one that came before, unless the program was there already and got it with the
     * process group. Finding that out may take some seconds, so it is done by a thread of its own.
     *
     * @param process the running program
     */
    public void forwardTo(GuardedProcess process) {
        mutex.lock();
        try {
            program = process;
            if (asked != null) {
                Thread.interrupted(); // it has done its work
                PosixSignal signal = asked;
                long cameNanos = askedNanos;
                Thread forwarding =
                        new Thread(null, () -> forward(signal, cameNanos, process), "holdfast-signal", 0, false);
                forwarding.setDaemon(true);
                try {
                    forwarding.start();
                } catch (OutOfMemoryError e) { // no memory for a thread
                    process.signal(signal);
                }
            }
        } finally {
            mutex.unlock();
        }
    }

    private static void forward(PosixSignal signal, long cameNanos, GuardedProcess process) {
        if (!process.hasReceived(signal, cameNanos)) {
            process.signal(signal);
        }
    }

    /** The program has ended: signals interrupt the waiting thread again. */
    public void forwardToNobody() {
        mutex.lock();
        try {
            program = null;
        } finally {
            mutex.unlock();
        }
    }

    /**
     * The first signal that asked this command to end. Of those that a program got, TERM and INT count: the others have other
     * meanings for many programs, such as to read the configuration again.
     *
     * @return empty if there was none
     */
    public Optional<PosixSignal> asked() {
        mutex.lock();
        try {
            return Optional.ofNullable(asked);
        } finally {
            mutex.unlock();
        }
    }

    void came(PosixSignal signal) {
        long nanos = System.nanoTime();
        GuardedProcess process = note(signal, nanos);
        if (process != null) {
            forward(signal, nanos, process);
        }
    }

    /** Notes the signal, and returns the program that it is for; null if there is none yet. */
    private @Nullable GuardedProcess note(PosixSignal signal, long nanos) {
        mutex.lock();
        try {
            GuardedProcess process = program;
            boolean asksToEnd = signal == PosixSignal.TERM || signal == PosixSignal.INT || process == null && allEnd;
            if (asksToEnd && asked == null) {
                asked = signal;
                askedNanos = nanos;
            }
            if (process == null && asksToEnd) {
                waiting.interrupt();
            }
            return process;
        } finally {
            mutex.unlock();
        }
    }

    /** Whether this process belongs to the foreground of its terminal, to which a {@code ^C} goes as a whole. */
    static boolean isForeground() {
        try {
            String stat = Files.readString(Path.of("/proc/self/stat"));
            String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
            return fields[2].equals(fields[5]); // its process group, and the terminal's foreground
        } catch (IOException | RuntimeException e) {
            return Boolean.getBoolean("holdfast.terminal");
        }
    }
}
