package dev.holdfast.lock.etcd;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * An etcd lease that many keys of one client share. What is certain about it is counted on this process's monotonic
 * clock from before the acknowledged grant or keep-alive was sent: until then no server ends it by itself.
 *
 * <p>Thread-safe.
 */
final class SharedLease {
    /** After so many tombstones the lease takes no more acquisitions, so that it ends and they with it. */
    private static final int TOMBSTONES = 64;

    private final long id;
    private final long ttlNanos;
    private final long term;
    private final AtomicLong confirmedNanos;
    private final Set<EtcdPlace> members = ConcurrentHashMap.newKeySet();
    private final AtomicInteger tombstones = new AtomicInteger();
    private final AtomicBoolean upkeep = new AtomicBoolean();
    private volatile boolean gone;

    SharedLease(long id, long ttlSeconds, long sentNanos, long term) {
        this.id = id;
        this.ttlNanos = TimeUnit.SECONDS.toNanos(ttlSeconds);
        this.term = term;
        this.confirmedNanos = new AtomicLong(sentNanos);
    }

    long id() {
        return id;
    }

    long ttlNanos() {
        return ttlNanos;
    }

    /** The Raft term in which it was granted. */
    long term() {
        return term;
    }

    Set<EtcdPlace> members() {
        return members;
    }

    /** True while a task looks after the lease on behalf of waiting members. */
    AtomicBoolean upkeep() {
        return upkeep;
    }

    /** A keep-alive that was sent at that time has been acknowledged. */
    void confirmed(long sentNanos) {
        confirmedNanos.accumulateAndGet(sentNanos, (a, b) -> b - a > 0 ? b : a);
    }

    /** How old the newest confirmation is, counted from its sending. */
    long ageNanos(long nowNanos) {
        return nowNanos - confirmedNanos.get();
    }

    /** For how long after the given time the lease certainly lasts; negative if that is not known any more. */
    long certainNanos(long nowNanos) {
        return ttlNanos - ageNanos(nowNanos);
    }

    boolean isGone() {
        return gone;
    }

    /** The server said that the lease has ended. Returns false if that was known. */
    boolean end() {
        boolean news = !gone;
        gone = true;
        return news;
    }

    void buried() {
        tombstones.incrementAndGet();
    }

    /** Whether the lease is to end as soon as nobody uses it. */
    boolean isRetired() {
        return tombstones.get() >= TOMBSTONES;
    }

    boolean isUsable(long nowNanos) {
        return !gone && !isRetired() && certainNanos(nowNanos) > ttlNanos / 3;
    }

    @Override
    public String toString() {
        return "etcd lease " + Long.toHexString(id);
    }
}
