package dev.holdfast.lock.cli.process;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import sun.misc.Signal;

/**
 * The signals that ask this process to end. They go to the program while there is one, and to the waiting thread while
 * there is none. A signal that was ignored when this process began, as by {@code nohup}, stays ignored. Thread-safe.
 */
public final class Signals {
    private final ReentrantLock mutex = new ReentrantLock();
    private final Thread waiting;
    private final boolean hupEnds;
    private @Nullable GuardedProcess program;
    private @Nullable PosixSignal asked;

    Signals(Thread waiting, boolean hupEnds) {
        this.hupEnds = hupEnds;
        this.waiting = waiting;
    }

    /**
     * Begins to receive the signals TERM, INT and HUP.
     *
     * @param hupEnds whether a HUP without a program asks to end; otherwise it is ignored
     * @return what came, and where it goes; from now on the calling thread is interrupted by a signal without a program
     */
    public static Signals receive(boolean hupEnds) {
        Signals signals = new Signals(Thread.currentThread(), hupEnds);
        for (PosixSignal signal : List.of(PosixSignal.TERM, PosixSignal.INT, PosixSignal.HUP)) {
            Signal.handle(new Signal(signal.name()), received -> signals.came(signal));
        }
        return signals;
    }

    /**
     * Sends signals to a program from now on, and the one that came before.
     *
     * @param process the running program
     */
    public void forwardTo(GuardedProcess process) {
        mutex.lock();
        try {
            program = process;
            if (asked != null) {
                Thread.interrupted(); // it has done its work
                process.signal(asked);
            }
        } finally {
            mutex.unlock();
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
     * The first signal that asked this command to end. A HUP that a program got does not count: many take it for a request
     * to read their configuration again.
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
        mutex.lock();
        try {
            GuardedProcess process = program;
            if (process == null && signal == PosixSignal.HUP && !hupEnds) {
                return;
            }
            if (asked == null && (process == null || signal != PosixSignal.HUP)) {
                asked = signal;
            }
            if (process == null) {
                waiting.interrupt();
            } else if (signal != PosixSignal.INT || !isForeground()) {
                process.signal(signal);
            } // a ^C has reached the program already, which is in the terminal's foreground with us
        } finally {
            mutex.unlock();
        }
    }

    /** Whether this process belongs to the foreground of its terminal, to which a {@code ^C} goes as a whole. */
    private static boolean isForeground() {
        try {
            String stat = Files.readString(Path.of("/proc/self/stat"));
            String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
            return fields[2].equals(fields[5]); // its process group, and the terminal's foreground
        } catch (IOException | RuntimeException e) {
            return Boolean.getBoolean("holdfast.terminal");
        }
    }
}
