package dev.holdfast.examples.election;

import dev.holdfast.examples.parts.AtExit;
import dev.holdfast.examples.parts.ChildJvm;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Locale;

/** A paused process, as in a long garbage collection: {@code SIGSTOP} until {@link #close()}. */
final class Pause implements AutoCloseable {

    /** Wakes the process up after a while in any case, so that no stopped process is left behind. */
    private static final String SCRIPT = "kill -STOP \"$1\" && echo stopped && sleep \"$2\"; kill -CONT \"$1\"";

    private final long pid;
    private final Process alarm;
    private final AtExit end = AtExit.run(this::resume);

    private Pause(long pid, Process alarm) {
        this.pid = pid;
        this.alarm = alarm;
    }

    static boolean isPossible() {
        return !System.getProperty("os.name").toLowerCase(Locale.ROOT).startsWith("windows");
    }

    static Pause of(ChildJvm child, long longestSeconds) throws IOException {
        Process alarm = new ProcessBuilder(
                        "sh", "-c", SCRIPT, "pause", Long.toString(child.pid()), Long.toString(longestSeconds))
                .start();
        if (alarm.getInputStream().read() < 0) {
            throw new IOException("cannot stop process " + child.pid() + ": "
                    + new String(alarm.getErrorStream().readAllBytes()).strip());
        }
        return new Pause(child.pid(), alarm);
    }

    @Override
    public void close() {
        end.close();
    }

    private void resume() {
        alarm.descendants().forEach(ProcessHandle::destroy);
        alarm.destroy();
        try {
            new ProcessBuilder("sh", "-c", "kill -CONT \"$1\"", "pause", Long.toString(pid)).start();
        } catch (IOException e) {
            throw new UncheckedIOException("cannot wake up process " + pid, e);
        }
    }
}
