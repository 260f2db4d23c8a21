package dev.holdfast.lock.recipe;

import dev.holdfast.lock.spi.support.BackgroundLog;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** Captures what elections log at WARN and above from now on; in tests the log is the standard error. For one test at a time. */
final class ElectionLog implements AutoCloseable {
    private final PrintStream before = System.err;
    private final ByteArrayOutputStream written = new ByteArrayOutputStream();

    ElectionLog() {
        System.setErr(new PrintStream(written, true, StandardCharsets.UTF_8));
    }

    /** The whole output, with stack traces. */
    String text() {
        BackgroundLog.flush(10_000);
        return written.toString(StandardCharsets.UTF_8);
    }

    /** The messages of the elections' complete lines. */
    List<String> warnings() {
        String begin = "WARN dev.holdfast.lock.Election - ";
        String text = text();
        return text.substring(0, text.lastIndexOf('\n') + 1)
                .lines()
                .filter(line -> line.contains(begin))
                .map(line -> line.substring(line.indexOf(begin) + begin.length()))
                .toList();
    }

    @Override
    public void close() {
        System.setErr(before);
    }
}
