package dev.holdfast.lock.etcd.internal.renewal;

import dev.holdfast.lock.etcd.internal.acquisition.ConditionalWrite;
import dev.holdfast.lock.etcd.internal.acquisition.EtcdAcquisition;
import dev.holdfast.lock.etcd.internal.acquisition.SharedLease;
import dev.holdfast.lock.etcd.internal.acquisition.SharedLeasePool;
import dev.holdfast.lock.etcd.internal.client.Deadline;
import dev.holdfast.lock.etcd.internal.client.EtcdCalls;
import dev.holdfast.lock.etcd.internal.client.EtcdFailures;
import dev.holdfast.lock.spi.support.BackgroundLog;
import dev.holdfast.lock.spi.support.CallLimit;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Writes keys of held locks again, on a lease that can be relied on. That lease is confirmed no earlier than the present
 * one, so a validity that was reported before holds on either.
 *
 * <p>After a change of leader this concerns every key of the client. {@value #MAX_MOVES} are moved at a time, so that they do not
 * delay keep-alives. Renewals of the others do not wait: the present lease has just been renewed, and etcd may take longer for
 * some thousand writes than the leases last.
 *
 * <p>Thread-safe.
 */
final class LeaseMoves {
    static final int MAX_MOVES = 32;

    private static final BackgroundLog LOG = BackgroundLog.of(LeaseMoves.class);

    private final EtcdCalls calls;
    private final SharedLeasePool leases;
    private final ConditionalWrite writes;
    private final CallLimit limit = new CallLimit(MAX_MOVES);
    /** Those that are to be moved, or are being moved. */
    private final Set<EtcdAcquisition> moving = ConcurrentHashMap.newKeySet();

    LeaseMoves(EtcdCalls calls, SharedLeasePool leases, ConditionalWrite writes) {
        this.calls = calls;
        this.leases = leases;
        this.writes = writes;
    }

    /**
     * Moves a key. Completes with whether it still is the key with that token, or with true at once if others are moved first. If the
     * move fails, the next renewal starts another one.
     */
    CompletableFuture<Boolean> move(EtcdAcquisition acquisition, long token, long timeoutMillis) {
        if (!moving.add(acquisition)) {
            return CompletableFuture.completedFuture(true);
        }
        boolean begins = moving.size() <= MAX_MOVES;
        CompletableFuture<Boolean> moved = limit.run(() -> begin(acquisition, token, timeoutMillis), () -> false)
                .whenComplete((there, failure) -> {
                    moving.remove(acquisition);
                    if (failure != null) {
                        LOG.debug("a key stays on {}; the next renewal moves it", acquisition.lease(), failure);
                    }
                });
        return begins ? moved : CompletableFuture.completedFuture(true);
    }

    private CompletableFuture<Boolean> begin(EtcdAcquisition acquisition, long token, long timeoutMillis) {
        return acquisition.isEnded()
                ? CompletableFuture.completedFuture(false)
                : write(acquisition, token, new Deadline(System.nanoTime(), timeoutMillis));
    }

    /**
     * Writes a key again if it exists, and completes with whether it still is the key with that token. The answer is never stale, and
     * settles all earlier writes.
     */
    CompletableFuture<Boolean> write(EtcdAcquisition acquisition, long token, Deadline deadline) {
        return target(acquisition, acquisition.lease(), deadline)
                .thenCompose(next -> write(acquisition, token, next, deadline, true));
    }

    /** A lease that can be relied on, and that was confirmed no earlier than the present one. */
    private CompletableFuture<SharedLease> target(
            EtcdAcquisition acquisition, @Nullable SharedLease present, Deadline deadline) {
        if (present != null && leases.isGood(present)) {
            return CompletableFuture.completedFuture(present);
        }
        return leases.obtain(SharedLeasePool.ttlSeconds(acquisition.requestedMillis()), deadline.leftMillis())
                .thenCompose(next -> asFresh(next, present, deadline).thenApply(ok -> next));
    }

    private CompletableFuture<Void> asFresh(SharedLease next, @Nullable SharedLease present, Deadline deadline) {
        long now = System.nanoTime();
        return present != null && next.certainNanos(now) >= present.certainNanos(now)
                ? CompletableFuture.completedFuture(null)
                : calls.bounded(leases.renew(next, deadline.leftMillis()), deadline.leftMillis());
    }

    private CompletableFuture<Boolean> write(
            EtcdAcquisition acquisition, long token, SharedLease lease, Deadline deadline, boolean again) {
        return calls.bounded(
                        writes.send(acquisition, lease, write -> List.of(acquisition.put(write, null))),
                        deadline.leftMillis())
                .whenComplete((result, failure) -> {
                    if (failure != null && EtcdFailures.isLeaseGone(failure)) {
                        leases.markGone(lease, "etcd refused to put a key on it");
                    }
                })
                .thenCompose(result -> {
                    boolean there = acquisition.seen().created() == token;
                    return there && again && result instanceof ConditionalWrite.Result.Changed
                            ? write(acquisition, token, lease, deadline, false)
                            : CompletableFuture.completedFuture(there);
                });
    }
}
