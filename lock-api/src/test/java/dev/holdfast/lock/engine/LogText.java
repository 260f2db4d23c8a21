package dev.holdfast.lock.engine;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/** Captures the log, which is the standard error here. */
final class LogText {
    private LogText() {}

    static String of(Runnable action) {
        PrintStream before = System.err;
        ByteArrayOutputStream written = new ByteArrayOutputStream();
        System.setErr(new PrintStream(written, true, StandardCharsets.UTF_8));
        try {
            action.run();
        } finally {
            System.setErr(before);
        }
        return written.toString(StandardCharsets.UTF_8);
    }
}
