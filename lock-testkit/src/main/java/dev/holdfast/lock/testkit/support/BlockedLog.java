package dev.holdfast.lock.testkit.support;

import dev.holdfast.lock.engine.LockEngine;
import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

/** A log whose appender blocks: each thread that writes a line to the error output waits until this is closed. */
public final class BlockedLog implements AutoCloseable {
    private final PrintStream before = System.err;
    private final ByteArrayOutputStream said = new ByteArrayOutputStream();
    private final CountDownLatch end = new CountDownLatch(1);
    private final AtomicInteger blocked = new AtomicInteger();

    /** Begins. */
    public BlockedLog() {
        LockEngine.flushLog(Waits.PATIENCE.toMillis());
        System.setErr(new PrintStream(new Blocking(), true, StandardCharsets.UTF_8));
    }

    /**
     * Returns how many writes have blocked so far.
     *
     * @return the number
     */
    public int blocked() {
        return blocked.get();
    }

    /** Ends, and prints what was written meanwhile. */
    @Override
    public void close() {
        end.countDown();
        LockEngine.flushLog(Waits.PATIENCE.toMillis());
        System.setErr(before);
        before.print(said.toString(StandardCharsets.UTF_8));
    }

    private final class Blocking extends OutputStream {
        @Override
        public void write(int one) {
            write(new byte[] {(byte) one}, 0, 1);
        }

        @Override
        public void write(byte[] bytes, int from, int length) {
            blocked.incrementAndGet();
            try {
                end.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            said.write(bytes, from, length);
        }
    }
}
