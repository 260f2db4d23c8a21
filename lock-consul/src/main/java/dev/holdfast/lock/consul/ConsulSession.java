package dev.holdfast.lock.consul;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * A session, as this process knows it. Consul ends it by its TTL not before that time has passed since the last renewal
 * reached it, so this process counts from before it sent that renewal. Thread-safe.
 */
final class ConsulSession {
    /** The epoch of a session whose attempts have all been answered: there is no key for it. */
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

    /** A renewal that was sent at that time has been acknowledged. */
    void confirmed(long sentNanos) {
        if (sentNanos - confirmedNanos > 0) {
            confirmedNanos = sentNanos; // of two at once either will do: both are true
        }
    }

    /** For how long the session lasts at least, counted from a given time; may be negative. */
    long leftMillis(long fromNanos) {
        return ttlMillis - Math.max(0, TimeUnit.NANOSECONDS.toMillis(fromNanos - confirmedNanos + 999_999));
    }

    /** Consul has said that there is no such session. */
    void end() {
        ended = true;
    }

    boolean hasEnded() {
        return ended;
    }

    /** What an attempt has to find, so that it is not late. */
    long epoch() {
        return epoch.get();
    }

    /** Answers to two writes may come in any order. */
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
