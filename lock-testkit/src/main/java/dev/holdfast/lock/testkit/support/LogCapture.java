package dev.holdfast.lock.testkit.support;

import dev.holdfast.lock.engine.LockEngine;
import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.regex.Pattern;

/**
 * What all loggers say from now on at WARN and above: those of SLF4J, of drivers and clients too, by way of slf4j-simple and
 * the error output, and those of {@code java.util.logging}. For one test at a time.
 */
public final class LogCapture implements AutoCloseable {
    private static final Pattern OURS =
            Pattern.compile("^(?:[0-9:.]+ )?\\[[^]]*] (INFO|WARN|ERROR) dev\\.holdfast\\..*");
    private static final Pattern LOUD = Pattern.compile("^(?:[0-9:.]+ )?\\[[^]]*] (WARN|ERROR) .*");

    private final PrintStream before = System.err;
    private final ByteArrayOutputStream said = new ByteArrayOutputStream();
    private final Queue<String> records = new ConcurrentLinkedQueue<>();
    private final Handler handler = new Recording();
    private final Set<Thread> others;

    /** Begins. */
    public LogCapture() {
        this(Set.of());
    }

    /**
     * Begins, without what some threads say: those of clients of an earlier test, whose server has gone.
     *
     * @param others the threads that are not listened to
     */
    public LogCapture(Set<Thread> others) {
        LockEngine.flushLog(Waits.PATIENCE.toMillis());
        this.others = Set.copyOf(others);
        System.setErr(new PrintStream(new Heard(), true, StandardCharsets.UTF_8));
        Logger.getLogger("").addHandler(handler);
    }

    /**
     * Returns the lines of WARN and ERROR so far, without stack traces.
     *
     * @return the lines of SLF4J, then those of {@code java.util.logging}
     */
    public List<String> warnings() {
        LockEngine.flushLog(Waits.PATIENCE.toMillis());
        List<String> lines = new java.util.ArrayList<>(said.toString(StandardCharsets.UTF_8)
                .lines()
                .filter(line -> LOUD.matcher(line).matches())
                .toList());
        lines.addAll(records);
        return lines;
    }

    /**
     * Returns what loggers of ours said at INFO and above, if the test's settings let INFO through.
     *
     * @return the lines
     */
    public List<String> ours() {
        LockEngine.flushLog(Waits.PATIENCE.toMillis());
        return said.toString(StandardCharsets.UTF_8)
                .lines()
                .filter(line -> OURS.matcher(line).matches())
                .toList();
    }

    /** Ends; what was captured is printed after all, for readers of the test's output. */
    @Override
    public void close() {
        LockEngine.flushLog(Waits.PATIENCE.toMillis());
        System.setErr(before);
        Logger.getLogger("").removeHandler(handler);
        before.print(said.toString(StandardCharsets.UTF_8));
    }

    /** Loggers write in the thread that logs. */
    private final class Heard extends OutputStream {
        @Override
        public void write(int one) {
            write(new byte[] {(byte) one}, 0, 1);
        }

        @Override
        public void write(byte[] bytes, int from, int length) {
            if (others.contains(Thread.currentThread())) {
                before.write(bytes, from, length);
            } else {
                said.write(bytes, from, length);
            }
        }
    }

    private final class Recording extends Handler {
        @Override
        public void publish(LogRecord record) {
            if (record.getLevel().intValue() >= Level.WARNING.intValue() && !others.contains(Thread.currentThread())) {
                records.add("[java.util.logging] " + record.getLevel() + " " + record.getLoggerName() + " - "
                        + record.getMessage());
            }
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
    }
}
