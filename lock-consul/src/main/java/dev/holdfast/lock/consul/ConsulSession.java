package dev.holdfast.lock.consul;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * A session of this client. Consul ends it no earlier than its TTL after the last renewal has arrived, so this process
 * counts from before it sent that renewal. Thread-safe.
 */
final class ConsulSession {
    /** The epoch of a session whose attempts have all been answered: it has no epoch key. */
    static final long NO_EPOCH = 0;

    private final String id;
    private final long ttlMillis;
    private volatile long confirmedNanos;
    private volatile boolean ended;
    private final AtomicLong epoch = new AtomicLong(NO_EPOCH);
    private final AtomicReference<@Nullable CompletableFuture<Boolean>> newEpoch = new AtomicReference<>();

    ConsulSession(String id, long ttlMillis, long createdNanos) {
        this.id = id;
        this.ttlMillis = ttlMillis;
        this.confirmedNanos = createdNanos;
    }

    String id() {
        return id;
    }

    long ttlMillis() {
        return ttlMillis;
    }

    /** Records that a renewal sent at that time was acknowledged. */
    void confirmed(long sentNanos) {
        if (sentNanos - confirmedNanos > 0) {
            confirmedNanos = sentNanos; // either of two concurrent values is correct
        }
    }

    /** How long the session lasts at least, counted from a given time; may be negative. */
    long leftMillis(long fromNanos) {
        return ttlMillis - Math.max(0, TimeUnit.NANOSECONDS.toMillis(fromNanos - confirmedNanos + 999_999));
    }

    /** Marks the session as ended: Consul reported that it does not exist. */
    void end() {
        ended = true;
    }

    boolean hasEnded() {
        return ended;
    }

    /** The epoch that an attempt requires, so that late attempts fail. */
    long epoch() {
        return epoch.get();
    }

    /** Takes the maximum, since answers to two writes may arrive in any order. */
    void raiseEpoch(long index) {
        epoch.accumulateAndGet(index, Math::max);
    }

    AtomicReference<@Nullable CompletableFuture<Boolean>> newEpoch() {
        return newEpoch;
    }

    @Override
    public String toString() {
        return "session " + id;
    }
}
