package dev.holdfast.lock.engine;

import dev.holdfast.lock.spi.support.BackgroundLog;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/** Captures the log, which is the standard error here. */
public final class LogText {
    private LogText() {}

    public static String of(Runnable action) {
        BackgroundLog.flush(10_000); // lines of an earlier test
        PrintStream before = System.err;
        ByteArrayOutputStream written = new ByteArrayOutputStream();
        System.setErr(new PrintStream(written, true, StandardCharsets.UTF_8));
        try {
            action.run();
        } finally {
            BackgroundLog.flush(10_000);
            System.setErr(before);
        }
        return written.toString(StandardCharsets.UTF_8);
    }
}
