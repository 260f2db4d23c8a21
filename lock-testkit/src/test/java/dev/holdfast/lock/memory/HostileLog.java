package dev.holdfast.lock.memory;

import dev.holdfast.lock.text.BackgroundLog;
import java.io.OutputStream;
import java.io.PrintStream;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

/** A log that blocks or throws at each line; in tests the log is the standard error. For one test at a time. */
final class HostileLog extends PrintStream {
    private final PrintStream before = System.err;
    private final CountDownLatch end = new CountDownLatch(1);
    private final AtomicInteger lines = new AtomicInteger();
    private final boolean blocks;

    private HostileLog(boolean blocks) {
        super(OutputStream.nullOutputStream());
        this.blocks = blocks;
        System.setErr(this);
    }

    static HostileLog blocking() {
        return new HostileLog(true);
    }

    static HostileLog throwing() {
        return new HostileLog(false);
    }

    @Override
    public void println(String line) {
        lines.incrementAndGet();
        if (!blocks) {
            throw new IllegalStateException("the disk of the log is full");
        }
        try {
            end.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** The number of lines that were to be written. */
    int lines() {
        return lines.get();
    }

    @Override
    public void close() {
        end.countDown();
        BackgroundLog.flush(10_000);
        System.setErr(before);
    }
}
