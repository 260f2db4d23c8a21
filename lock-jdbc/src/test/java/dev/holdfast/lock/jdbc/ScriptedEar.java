package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.SQLException;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.postgresql.PGNotification;

/** The notifications of a listening connection, read by read; each read takes as long as the test says, on its own clock. */
final class ScriptedEar implements ScriptedDatabase.Ear {
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    /** The present time; it may start over while a client runs. */
    final AtomicLong nanos = new AtomicLong(Long.MAX_VALUE - 1);

    /** The next read fails so. */
    volatile SQLException broken;

    /** The time-out of the last read. */
    volatile int readMillis;

    private final Semaphore reads = new Semaphore(0);
    private final BlockingQueue<List<String>> arrived = new LinkedBlockingQueue<>();
    private volatile boolean free;

    /** From now on, reads return nothing and take no time, without the test. */
    void goOn() {
        free = true;
        arrived.add(List.of());
    }

    @Override
    public PGNotification[] hear(int millis) throws SQLException {
        readMillis = millis;
        reads.release();
        if (free) {
            LockSupport.parkNanos(1_000_000);
            return null;
        }
        List<String> payloads;
        try {
            payloads = arrived.poll(PATIENCE.toSeconds(), TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            throw new SQLException(e);
        }
        SQLException failure = broken;
        if (failure != null) {
            broken = null;
            throw failure;
        }
        return payloads == null || payloads.isEmpty()
                ? null
                : payloads.stream().map(ScriptedEar::notification).toArray(PGNotification[]::new);
    }

    private static PGNotification notification(String payload) {
        return new PGNotification() {
            @Override
            public String getName() {
                return "locks";
            }

            @Override
            public int getPID() {
                return 1;
            }

            @Override
            public String getParameter() {
                return payload;
            }
        };
    }

    private void awaitRead() throws InterruptedException {
        assertThat(reads.tryAcquire(PATIENCE.toSeconds(), TimeUnit.SECONDS))
                .as("the listener reads")
                .isTrue();
    }

    /** A read takes the given time, and returns the given notifications. */
    void read(long millis, String... payloads) throws InterruptedException {
        awaitRead();
        nanos.addAndGet(TimeUnit.MILLISECONDS.toNanos(millis));
        arrived.add(Arrays.asList(payloads));
    }

    /** What came of the last read has been done. */
    void settle() throws InterruptedException {
        awaitRead();
        reads.release();
    }
}
