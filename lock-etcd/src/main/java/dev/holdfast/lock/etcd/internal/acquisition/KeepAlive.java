package dev.holdfast.lock.etcd.internal.acquisition;

import dev.holdfast.lock.etcd.internal.client.EtcdCalls;
import dev.holdfast.lock.etcd.internal.client.EtcdFailures;
import io.etcd.jetcd.lease.LeaseKeepAliveResponse;
import io.grpc.Context;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * One renewal of a lease. While it has no answer, it is sent again on another stream, which goes to the next endpoint.
 * A follower of a paused leader delays an answer for seconds, with every later request on that stream; a new stream is
 * served as soon as there is a new leader. The first acknowledgement wins, and counts from its own sending.
 *
 * <p>Measured on etcd 3.4.23 with a paused leader: one long-lived stream lost its lease in 19 of 20 pauses; fresh
 * streams with a short timeout in none of 18.
 */
final class KeepAlive {
    private static final long MAX_PATIENCE_MILLIS = 1_000;
    private static final long MIN_PATIENCE_MILLIS = 200;

    private final EtcdCalls calls;
    private final SharedLease lease;
    private final long deadlineNanos;
    private final long patienceMillis;
    private final CompletableFuture<Void> done = new CompletableFuture<>();
    private final Queue<Context.CancellableContext> streams = new ConcurrentLinkedQueue<>();
    private final AtomicInteger pending = new AtomicInteger();
    private final AtomicInteger sends = new AtomicInteger();
    private volatile @Nullable Throwable lastFailure;

    private KeepAlive(EtcdCalls calls, SharedLease lease, long timeoutMillis) {
        this.calls = calls;
        this.lease = lease;
        this.deadlineNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMillis);
        long sixth = TimeUnit.NANOSECONDS.toMillis(lease.ttlNanos()) / 6;
        this.patienceMillis = Math.max(MIN_PATIENCE_MILLIS, Math.min(sixth, MAX_PATIENCE_MILLIS));
    }

    /** Completes when the lease is confirmed; fails if it is gone (NOT_FOUND) or if no server answers in time. */
    static CompletableFuture<Void> send(EtcdCalls calls, SharedLease lease, long timeoutMillis) {
        KeepAlive renewal = new KeepAlive(calls, lease, timeoutMillis);
        renewal.done.whenComplete((ok, failure) -> renewal.cancelStreams());
        renewal.trySend(0);
        return renewal.done;
    }

    /** Sends it again, unless that happened after this call was planned. */
    private void trySend(int before) {
        if (done.isDone() || !sends.compareAndSet(before, before + 1)) {
            return;
        }
        LeaseRequestTime sent = LeaseRequestTime.now();
        if (deadlineNanos - sent.nanos() <= 0) {
            Throwable cause = lastFailure;
            done.completeExceptionally(
                    cause == null ? new TimeoutException(lease + " was not renewed in time") : cause);
            return;
        }
        pending.incrementAndGet();
        Context.CancellableContext context = Context.ROOT.withCancellation();
        streams.add(context);
        calls.keepAliveOnce(lease.id(), context)
                .whenCompleteAsync((reply, failure) -> answered(sent, reply, failure), calls.executor());
        later(patienceMillis, before + 1);
        if (done.isDone()) {
            cancelStreams();
        }
    }

    private void answered(LeaseRequestTime sent, @Nullable LeaseKeepAliveResponse reply, @Nullable Throwable failure) {
        boolean lastOne = pending.decrementAndGet() == 0;
        if (failure == null && reply != null) {
            calls.noteTerm(reply);
            lease.confirm(sent);
            done.complete(null);
        } else if (failure != null && EtcdFailures.isLeaseGone(failure)) {
            done.completeExceptionally(failure);
        } else {
            lastFailure = failure;
            if (lastOne) {
                later(MIN_PATIENCE_MILLIS / 2, sends.get());
            }
        }
    }

    private void later(long delayMillis, int before) {
        if (!done.isDone()) {
            long left = TimeUnit.NANOSECONDS.toMillis(deadlineNanos - System.nanoTime()) + 1;
            calls.executor()
                    .schedule(() -> trySend(before), Math.max(1, Math.min(delayMillis, left)), TimeUnit.MILLISECONDS);
        }
    }

    private void cancelStreams() {
        for (Context.CancellableContext c = streams.poll(); c != null; c = streams.poll()) {
            c.cancel(null);
        }
    }
}
