package dev.holdfast.lock.etcd;

import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;

/**
 * An etcd lease that many keys of one client share. What is certain about it is counted on this process's clocks from
 * before the acknowledged grant or keep-alive was sent ({@link SentAt}): until then no server ends it by itself.
 *
 * <p>Thread-safe.
 */
final class SharedLease {
    /** After so many tombstones the lease takes no more acquisitions, so that it ends and they with it. */
    private static final int MAX_TOMBSTONES = 64;

    /**
     * What the keys on one lease may add up to, so that etcd's list of them stays below gRPC's 4 MB also
     * with a namespace before each of them.
     */
    private static final long MAX_KEY_BYTES = 1_000_000;

    private final long id;
    private final long ttlNanos;
    private final long term;
    private final AtomicReference<SentAt> confirmed;
    private final Set<LeaseMember> members = ConcurrentHashMap.newKeySet();
    private final AtomicLong keyBytes = new AtomicLong();
    private final AtomicInteger tombstones = new AtomicInteger();
    private final AtomicBoolean upkeep = new AtomicBoolean();
    private volatile boolean gone;
    private volatile boolean condemned;

    SharedLease(long id, long ttlSeconds, SentAt sent, long term) {
        this.id = id;
        this.ttlNanos = TimeUnit.SECONDS.toNanos(ttlSeconds);
        this.term = term;
        this.confirmed = new AtomicReference<>(sent);
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

    Set<LeaseMember> members() {
        return members;
    }

    void join(LeaseMember member) {
        if (members.add(member)) {
            keyBytes.addAndGet(member.key().size());
        }
    }

    void leave(LeaseMember member) {
        if (members.remove(member)) {
            keyBytes.addAndGet(-member.key().size());
        }
    }

    /** Whether its keys are so many that the next ones go to another lease. */
    boolean isFull() {
        return keyBytes.get() >= MAX_KEY_BYTES;
    }

    /** True while a task looks after the lease on behalf of waiting members. */
    AtomicBoolean upkeep() {
        return upkeep;
    }

    /** A keep-alive that was sent at that time has been acknowledged. */
    void confirm(SentAt sent) {
        confirmed.accumulateAndGet(sent, SentAt::or);
    }

    /** How old the newest confirmation is, counted from its sending. */
    long ageNanos(long nowNanos) {
        return Objects.requireNonNull(confirmed.get()).ageNanos(nowNanos);
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

    void addTombstone() {
        tombstones.incrementAndGet();
    }

    /** Something of an ended acquisition may still arrive on it: what else is on it is to move away. */
    void condemn() {
        condemned = true;
    }

    boolean isCondemned() {
        return condemned;
    }

    /** Whether the lease takes no more acquisitions, and is to end as soon as nobody uses it. */
    boolean isRetired() {
        return condemned || tombstones.get() >= MAX_TOMBSTONES;
    }

    boolean isUsable(long nowNanos) {
        return !gone && !isRetired() && certainNanos(nowNanos) > ttlNanos / 3;
    }

    @Override
    public String toString() {
        return "etcd lease " + Long.toHexString(id);
    }
}
