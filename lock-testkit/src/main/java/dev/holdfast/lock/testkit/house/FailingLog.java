package dev.holdfast.lock.testkit.house;

import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The standard error of a {@link ClientProgram}, and so its log, on a disk that is full: the operating system refuses each byte. As
 * appenders do, it either goes on in silence or throws.
 */
final class FailingLog extends PrintStream {
    /** The property that makes it throw. */
    static final String THROWS = "holdfast.house.log.throws";

    /** A file of Linux to which nothing can be written. */
    static final File FULL = new File("/dev/full");

    private static final AtomicLong FAILED = new AtomicLong();

    private final boolean throwing;
    private final OutputStream file;

    private FailingLog(OutputStream file, boolean throwing) {
        super(OutputStream.nullOutputStream());
        this.file = file;
        this.throwing = throwing;
    }

    /** Puts it in the place of the standard error, if this process was started so. */
    static void install() throws IOException {
        String throwing = System.getProperty(THROWS);
        if (throwing != null) {
            System.setErr(new FailingLog(new FileOutputStream(FULL), Boolean.parseBoolean(throwing)));
        }
    }

    /** Returns how many lines could not be written. */
    static long failedLines() {
        return FAILED.get();
    }

    @Override
    public void println(String line) {
        try {
            file.write((line + "\n").getBytes(StandardCharsets.UTF_8));
        } catch (IOException full) {
            FAILED.incrementAndGet();
            if (throwing) {
                throw new UncheckedIOException(full);
            }
        }
    }
}
