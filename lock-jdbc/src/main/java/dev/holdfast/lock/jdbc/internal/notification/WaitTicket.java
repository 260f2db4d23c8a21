package dev.holdfast.lock.jdbc.internal.notification;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.LockName;
import dev.holdfast.lock.spi.Ticket;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** One acquisition that waits for a name, and its polling interval without notifications. Thread-safe. */
public final class WaitTicket implements Ticket {
    private static final long FIRST_POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(10);
    private static final long LAST_POLL_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final AcquisitionId acquisition;
    private final String payload;
    private volatile @Nullable Runnable onMaybeFree;
    private volatile long announcedNanos;
    private final AtomicInteger polls = new AtomicInteger();

    public WaitTicket(AcquisitionId acquisition) {
        this.acquisition = acquisition;
        this.payload = HexFormat.of().formatHex(sha256(LockName.utf8(acquisition.name())));
        this.announcedNanos = System.nanoTime();
    }

    String name() {
        return acquisition.name();
    }

    /** Whether permits may have become free since the last attempt; the row may still be held by others, so it does not show that. */
    boolean mayHaveMissedRoom() {
        return acquisition.demand() instanceof Demand.Permits;
    }

    /** The payload of the notification of its release. */
    public String payload() {
        return payload;
    }

    private static byte[] sha256(byte[] bytes) {
        try {
            return MessageDigest.getInstance("SHA-256").digest(bytes);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }

    void listener(@Nullable Runnable onMaybeFree) {
        this.onMaybeFree = onMaybeFree;
    }

    boolean isListening() {
        return onMaybeFree != null;
    }

    /** Called when the lock may be free. */
    void call() {
        Runnable listener = onMaybeFree;
        if (listener != null) {
            listener.run();
        }
    }

    /** Called when its announcement is written, or about to be. */
    void announced() {
        announcedNanos = System.nanoTime();
    }

    boolean announcedLongerAgoThan(long nanos) {
        return System.nanoTime() - announcedNanos > nanos;
    }

    /** Doubles, with jitter, from 10 ms to 1 s. */
    long nextPollNanos() {
        long delay = Math.min(LAST_POLL_NANOS, FIRST_POLL_NANOS << Math.min(polls.getAndIncrement(), 10));
        return delay - ThreadLocalRandom.current().nextLong(delay / 4 + 1);
    }
}
