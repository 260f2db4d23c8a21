package dev.holdfast.lock.testkit.house;

import dev.holdfast.lock.engine.LockEngine;
import java.io.OutputStream;
import java.io.PrintStream;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

/** A log that blocks or throws at each line; in tests the log is the standard error. For one test at a time. */
public final class HostileLog extends PrintStream {
    private final PrintStream before = System.err;
    private final CountDownLatch end = new CountDownLatch(1);
    private final AtomicInteger lines = new AtomicInteger();
    private final boolean blocks;

    private HostileLog(boolean blocks) {
        super(OutputStream.nullOutputStream());
        this.blocks = blocks;
        System.setErr(this);
    }

    /**
     * Begins to block each thread that writes a line, until this is closed.
     *
     * @return the log
     */
    public static HostileLog blocking() {
        return new HostileLog(true);
    }

    /**
     * Begins to throw at each line.
     *
     * @return the log
     */
    public static HostileLog throwing() {
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

    /**
     * Returns how many lines were to be written.
     *
     * @return the number
     */
    public int lines() {
        return lines.get();
    }

    /** Ends it. */
    @Override
    public void close() {
        end.countDown();
        LockEngine.flushLog(10_000);
        System.setErr(before);
    }
}
