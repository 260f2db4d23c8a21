package dev.holdfast.lock.etcd.internal.acquisition;

import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;

/**
 * An etcd lease that many keys of one client share. Its certain lifetime counts on this process's clocks, from before
 * the acknowledged grant or keep-alive was sent ({@link LeaseRequestTime}): no server ends it by itself earlier.
 *
 * <p>Thread-safe.
 */
public final class SharedLease {
    /**
     * After this number of tombstones, the lease takes no more acquisitions, so that it ends together with the
     * tombstones.
     */
    private static final int MAX_TOMBSTONES = 64;

    /**
     * The maximum size of the keys on one lease. It keeps etcd's list of them below gRPC's 4 MB, with a namespace too.
     */
    private static final long MAX_KEY_BYTES = 1_000_000;

    private final long id;
    private final long ttlNanos;
    private final long term;
    private final AtomicReference<LeaseRequestTime> confirmed;
    private final Set<LeaseMember> members = ConcurrentHashMap.newKeySet();
    private final AtomicLong keyBytes = new AtomicLong();
    private final AtomicInteger tombstones = new AtomicInteger();
    private final AtomicBoolean upkeep = new AtomicBoolean();
    private volatile boolean gone;
    private volatile boolean condemned;

    SharedLease(long id, long ttlSeconds, LeaseRequestTime sent, long term) {
        this.id = id;
        this.ttlNanos = TimeUnit.SECONDS.toNanos(ttlSeconds);
        this.term = term;
        this.confirmed = new AtomicReference<>(sent);
    }

    public long id() {
        return id;
    }

    public long ttlNanos() {
        return ttlNanos;
    }

    /** The Raft term in which the lease was granted. */
    long term() {
        return term;
    }

    public Set<LeaseMember> members() {
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

    /** Whether further keys must go to another lease. */
    boolean isFull() {
        return keyBytes.get() >= MAX_KEY_BYTES;
    }

    /** True while a task renews the lease for waiting members. */
    AtomicBoolean upkeep() {
        return upkeep;
    }

    /** A keep-alive that was sent at that time was acknowledged. */
    void confirm(LeaseRequestTime sent) {
        confirmed.accumulateAndGet(sent, LeaseRequestTime::or);
    }

    /** The age of the newest confirmation, counted from its sending. */
    public long ageNanos(long nowNanos) {
        return Objects.requireNonNull(confirmed.get()).ageNanos(nowNanos);
    }

    /** How long the lease certainly lasts after the given time; negative if it may have ended. */
    public long certainNanos(long nowNanos) {
        return ttlNanos - ageNanos(nowNanos);
    }

    public boolean isGone() {
        return gone;
    }

    /** The server reported the end of the lease. Returns false if that was known. */
    public boolean end() {
        boolean news = !gone;
        gone = true;
        return news;
    }

    public void addTombstone() {
        tombstones.incrementAndGet();
    }

    /** A write of an ended acquisition may still arrive on it, so all other keys on it must move. */
    public void condemn() {
        condemned = true;
    }

    public boolean isCondemned() {
        return condemned;
    }

    /** Whether the lease takes no more acquisitions, and must end as soon as it is unused. */
    public boolean isRetired() {
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
