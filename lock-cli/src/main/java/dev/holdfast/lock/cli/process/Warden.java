package dev.holdfast.lock.cli.process;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A small shell in this process's group that does what a Java process cannot do.
 *
 * <p>It survives this process. If this process dies without having closed it, by a SIGKILL for example, the pipe between the two
 * breaks, and the shell kills every process that has the mark of the command in its environment (on Linux). So the command
 * does not go on without its lease.
 *
 * <p>It also receives the signals that are sent to the whole process group or control group, as a terminal and systemd send
 * them. A signal that it reports has reached the command as well, so it must not be forwarded.
 *
 * <p>Thread-safe.
 */
final class Warden implements AutoCloseable {
    /** How long a signal of the group usually takes to be reported here, at most; a signal is forwarded that much later. */
    private static final Duration REPORT_TIME = Duration.ofMillis(300);

    /** How long the shell of a busy machine may take afterwards to answer that it has reported what it has received. */
    private static final Duration ANSWER_TIME = Duration.ofSeconds(5);

    /** The signal that the shell answers. It is handled after those that the shell reports, since its number is higher. */
    private static final String QUESTION = "SYS";

    /** A report that no signal of this process has matched in that time belongs to none. */
    private static final long REPORT_LIFE_NANOS = TimeUnit.SECONDS.toNanos(2);

    private static final String SCRIPT = String.join(
            "\n",
            "id=$1",
            "exec 3<&0 </dev/null 2>/dev/null",
            "trap '' PIPE QUIT TSTP TTIN TTOU TERM INT HUP USR1 USR2 ALRM VTALRM PROF XCPU IO PWR",
            // The pipe ends when the process at its other end does. What reads it must never die of a signal to the
            // group, so it is started while they are ignored.
            "cat <&3 >/dev/null &",
            "for s in TERM INT HUP USR1 USR2 ALRM VTALRM PROF XCPU IO PWR " + QUESTION
                    + "; do trap \"echo $s\" $s; done",
            "exec 3<&-",
            "echo ready",
            "while kill -0 $!; do wait $!; done",
            "n=0",
            "while [ $n -lt 300 ]; do",
            "  found=$(grep -ls -- \"$id\" /proc/[0-9]*/environ)",
            "  [ -n \"$found\" ] || exit 0",
            "  for f in $found; do f=${f#/proc/}; kill -KILL \"${f%/environ}\"; done",
            "  n=$((n + 1)); sleep 0.1",
            "done");

    private final ReentrantLock mutex = new ReentrantLock();
    private final Condition reported = mutex.newCondition();
    private final Map<PosixSignal, Long> reports = new EnumMap<>(PosixSignal.class);
    private final Process shell;
    private long answers;

    private Warden(Process shell) {
        this.shell = shell;
    }

    /**
     * Starts a warden and waits until it is ready.
     *
     * @param mark what the environment of the command and of everything that it starts contains
     * @throws IOException if this system has no shell
     */
    static Warden start(String mark) throws IOException {
        // No word of this command or of its arguments: a pkill -f that looks for them must not reach the shell.
        // It would report the signal as one of the group.
        ProcessBuilder builder =
                new ProcessBuilder("sh", "-c", SCRIPT, "warden", mark).redirectError(ProcessBuilder.Redirect.DISCARD);
        Warden warden = new Warden(builder.start());
        BufferedReader reader = warden.shell.inputReader(StandardCharsets.US_ASCII);
        if (!"ready".equals(reader.readLine())) {
            warden.close();
            throw new IOException("the shell ended at once");
        }
        Thread thread = new Thread(null, () -> warden.read(reader), "holdfast-warden", 0, false);
        thread.setDaemon(true);
        thread.start();
        return warden;
    }

    private void read(BufferedReader reader) {
        try (reader) {
            for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                if (line.equals(QUESTION)) {
                    answered();
                } else {
                    report(PosixSignal.valueOf(line));
                }
            }
        } catch (IOException | IllegalArgumentException e) {
            // It was closed, or killed: nothing is reported any more.
        }
    }

    private void report(PosixSignal signal) {
        mutex.lock();
        try {
            reports.put(signal, System.nanoTime());
            reported.signalAll();
        } finally {
            mutex.unlock();
        }
    }

    private void answered() {
        mutex.lock();
        try {
            answers++;
            reported.signalAll();
        } finally {
            mutex.unlock();
        }
    }

    /**
     * Returns whether a signal that this process has just received went to its whole group. Waits a moment for the report, and then
     * until the shell answers that there is none; an interrupt ends the wait.
     *
     * @param signal which
     * @return true if the group got it, and with it the command
     */
    boolean takeReport(PosixSignal signal) {
        mutex.lock();
        try {
            if (await(signal, REPORT_TIME, Long.MAX_VALUE)) {
                return true;
            }
            long before = answers;
            return ask() && await(signal, ANSWER_TIME, before);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        } finally {
            mutex.unlock();
        }
    }

    /** Waits for the report of a signal; false if the time is up, or the shell has ended, or has answered since. */
    private boolean await(PosixSignal signal, Duration time, long answersBefore) throws InterruptedException {
        long left = time.toNanos();
        while (true) {
            Long at = reports.remove(signal);
            if (at != null && System.nanoTime() - at < REPORT_LIFE_NANOS) {
                return true;
            }
            if (left <= 0 || answers > answersBefore || !shell.isAlive()) {
                return false;
            }
            left = reported.awaitNanos(left);
        }
    }

    /** False if that failed. */
    private boolean ask() {
        try {
            new ProcessBuilder("sh", "-c", "kill -s " + QUESTION + " \"$1\"", "sh", Long.toString(shell.pid()))
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    /** Ends it; what the command has left running goes on. */
    @Override
    public void close() {
        shell.destroyForcibly(); // before the pipe ends, which it would take for the death of this process
        try {
            shell.waitFor(1, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        try {
            shell.getOutputStream().close();
        } catch (IOException e) {
            // It is closed.
        }
    }
}
