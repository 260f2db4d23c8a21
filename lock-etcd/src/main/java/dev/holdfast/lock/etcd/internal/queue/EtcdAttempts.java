package dev.holdfast.lock.etcd.internal.queue;

import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.etcd.internal.acquisition.AttemptReply;
import dev.holdfast.lock.etcd.internal.acquisition.ConditionalWrite;
import dev.holdfast.lock.etcd.internal.acquisition.EtcdAcquisition;
import dev.holdfast.lock.etcd.internal.acquisition.EtcdTicket;
import dev.holdfast.lock.etcd.internal.acquisition.SharedLease;
import dev.holdfast.lock.etcd.internal.acquisition.SharedLeasePool;
import dev.holdfast.lock.etcd.internal.client.ClientKeyPool;
import dev.holdfast.lock.etcd.internal.client.Deadline;
import dev.holdfast.lock.etcd.internal.client.EtcdCalls;
import dev.holdfast.lock.etcd.internal.client.EtcdFailures;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.support.BackgroundLog;
import dev.holdfast.lock.spi.support.CallLimit;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.CmpTarget;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.DeleteOption;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Executes attempts. An attempt is a {@link ConditionalWrite} if something may have changed for the acquisition, else a
 * {@link WaiterPoll}.
 *
 * @param limit how many attempts and polls are sent at a time
 * @param onLeft called with acquisitions that have left the queue
 * @param onVoid called with the grant of a hand-over whose key was missing at a later attempt
 */
public record EtcdAttempts(
        EtcdCalls calls,
        EtcdProtocol protocol,
        SharedLeasePool leases,
        ConditionalWrite writes,
        ClientKeyPool slots,
        CallLimit limit,
        Consumer<EtcdAcquisition> onLeft,
        Consumer<Grant> onVoid) {
    /** The number of attempts and polls at a time; far more than one connection needs to be busy. */
    public static final int MAX_CALLS = 32;

    private static final int AT_ONCE = 4;
    private static final long FIRST_PAUSE_MILLIS = 10;
    private static final int MAX_DOUBLINGS = 6;
    private static final BackgroundLog LOG = BackgroundLog.of(EtcdAttempts.class);

    /**
     * Executes one attempt; {@code again}: whether it may be repeated on another lease if etcd has lost the first one.
     */
    public CompletableFuture<AcquireResult> tryAcquire(
            EtcdAcquisition acquisition, AcquireRequest request, Deadline deadline, boolean again) {
        return tryAcquire(acquisition, request, deadline, new Repeats(again, 0));
    }

    /**
     * What may still be repeated.
     *
     * @param onAnotherLease whether once more if etcd has lost the lease
     * @param changes how often the key was not as expected
     */
    private record Repeats(boolean onAnotherLease, int changes) {}

    private CompletableFuture<AcquireResult> tryAcquire(
            EtcdAcquisition acquisition, AcquireRequest request, Deadline deadline, Repeats again) {
        boolean called = acquisition.takeNotification();
        if (!called
                && acquisition.isWaiting()
                && acquisition.history() == calls.history().number()
                && request.ticket() instanceof EtcdTicket ticket
                && isKept(acquisition)) {
            return look(acquisition, ticket, request, deadline);
        }
        boolean isFirst =
                acquisition.seen().at() == 0 && acquisition.openCreations().isEmpty();
        return isFirst && request.waitMillis() == 0
                ? writeUnlessBusy(acquisition, request, deadline, again)
                : write(acquisition, request, deadline, again);
    }

    private CompletableFuture<AcquireResult> writeUnlessBusy(
            EtcdAcquisition acquisition, AcquireRequest request, Deadline deadline, Repeats again) {
        CompletableFuture<Boolean> asked = protocol.isBusy(calls, acquisition.id());
        if (asked == null) {
            return write(acquisition, request, deadline, again);
        }
        return calls.bounded(asked, deadline.leftMillis())
                .thenCompose(busy -> busy
                        ? leave(acquisition, deadline).thenApply(gone -> new AcquireResult.Busy(-1, null))
                        : write(acquisition, request, deadline, again));
    }

    /** Whether the key, if there is one, can stay on its lease. */
    private boolean isKept(EtcdAcquisition acquisition) {
        SharedLease lease = acquisition.lease();
        return !protocol.queues() || lease != null && leases.isGood(lease);
    }

    private <T> CompletableFuture<T> limited(Supplier<CompletableFuture<T>> call, Deadline deadline) {
        return limit.run(() -> calls.bounded(call.get(), deadline.leftMillis()), deadline::isOver);
    }

    /** Polls; writes only if something has changed. */
    private CompletableFuture<AcquireResult> look(
            EtcdAcquisition acquisition, EtcdTicket ticket, AcquireRequest request, Deadline deadline) {
        return limited(() -> new WaiterPoll(calls, protocol).poll(ticket), deadline)
                .thenCompose(unchanged -> unchanged
                        ? CompletableFuture.completedFuture(new AcquireResult.Busy(-1, ticket))
                        : write(acquisition, request, deadline, new Repeats(true, 0)));
    }

    private CompletableFuture<AcquireResult> write(
            EtcdAcquisition acquisition, AcquireRequest request, Deadline deadline, Repeats again) {
        SharedLease present = acquisition.lease();
        if (present != null && (leases.isGood(present) || acquisition.isHeld())) {
            return write(acquisition, present, request, deadline, again); // only renewals move a held key
        }
        return leases.obtain(SharedLeasePool.ttlSeconds(request.leaseMillis()), deadline.leftMillis())
                .thenCompose(lease -> write(acquisition, lease, request, deadline, again));
    }

    /** Sends a keep-alive in parallel, if the last confirmation of the lease is old: see {@link #granted}. */
    private CompletableFuture<AcquireResult> write(
            EtcdAcquisition acquisition, SharedLease lease, AcquireRequest request, Deadline deadline, Repeats again) {
        CompletableFuture<Void> fresh = lease.ageNanos(System.nanoTime()) > lease.ttlNanos() / 20
                ? leases.renew(lease, deadline.leftMillis())
                : CompletableFuture.completedFuture(null);
        return limited(
                        () -> writes.sendAttempt(acquisition, lease, write -> protocol.attempt(acquisition, write)),
                        deadline)
                .thenCompose(result ->
                        finish(acquisition, request, deadline, again, fresh, protocol.outcome(acquisition, result)))
                .exceptionallyCompose(failure -> {
                    if (EtcdFailures.isLeaseGone(failure) && again.onAnotherLease()) {
                        leases.markGone(lease, "etcd refused to put a key on it");
                        return tryAcquire(acquisition, request, deadline, new Repeats(false, again.changes()));
                    }
                    return CompletableFuture.failedFuture(failure);
                });
    }

    private static LockUnavailableException ended() {
        return new LockUnavailableException("the acquisition was abandoned before this attempt");
    }

    private CompletableFuture<AcquireResult> finish(
            EtcdAcquisition acquisition,
            AcquireRequest request,
            Deadline deadline,
            Repeats again,
            CompletableFuture<Void> fresh,
            AttemptReply outcome) {
        if (outcome instanceof AttemptReply.Held held) {
            return granted(acquisition, request, deadline, fresh, held);
        }
        if (acquisition.isEnding() || outcome instanceof AttemptReply.Ended) {
            return CompletableFuture.failedFuture(ended());
        }
        if (outcome instanceof AttemptReply.Taken taken) {
            move(acquisition, taken.present());
        }
        if (outcome instanceof AttemptReply.OtherLimit other) {
            return leave(acquisition, deadline).thenApply(gone -> new AcquireResult.OtherLimit(other.limit()));
        }
        if (!(outcome
                instanceof
                AttemptReply.Queued
                        queued)) { // changed or taken: the next attempt expects the state that this answer has returned
            acquisition.markNotified();
            return later(
                    again.changes(),
                    deadline,
                    () -> tryAcquire(acquisition, request, deadline, new Repeats(true, again.changes() + 1)));
        }
        if (request.waitMillis() == 0) {
            return leave(acquisition, deadline).thenApply(gone -> new AcquireResult.Busy(-1, null));
        }
        EtcdTicket ticket = queued.ticket();
        Grant ended = acquisition.keepWaiting();
        if (ended != null) {
            onVoid.accept(ended);
        }
        SharedLease lease = acquisition.lease();
        if (lease != null) {
            leases.keepAlive(lease);
        }
        return CompletableFuture.completedFuture(new AcquireResult.Busy(-1, ticket));
    }

    /** Repeats at once for a few times, then with pauses that double, until the attempt's time is over. */
    private CompletableFuture<AcquireResult> later(
            int changes, Deadline deadline, Supplier<CompletableFuture<AcquireResult>> repeat) {
        if (changes < AT_ONCE) {
            return repeat.get();
        }
        if (deadline.isOver()) {
            return CompletableFuture.failedFuture(
                    new LockUnavailableException("its key was not as expected in each of " + changes + " attempts"));
        }
        long pauseMillis = FIRST_PAUSE_MILLIS << Math.min(changes - AT_ONCE, MAX_DOUBLINGS);
        return CompletableFuture.supplyAsync(
                        repeat, CompletableFuture.delayedExecutor(pauseMillis, TimeUnit.MILLISECONDS, Runnable::run))
                .thenCompose(result -> result);
    }

    /** A late attempt of an ended acquisition has written the key. Deletes it, and changes to another key. */
    private void move(EtcdAcquisition acquisition, KeyValue present) {
        ByteSequence key = acquisition.key();
        String name = acquisition.id().name();
        ClientKeyPool.Slot slot = slots.take(name);
        acquisition.move(slot, protocol.key(acquisition.id(), slot));
        EtcdCalls.guarded(() -> calls.txn()
                        .If(new Cmp(key, Cmp.Op.EQUAL, CmpTarget.createRevision(present.getCreateRevision())))
                        .Then(Op.delete(key, DeleteOption.DEFAULT))
                        .commit())
                .whenComplete((reply, failure) ->
                        LOG.debug("late key {} of an ended acquisition; deleted: {}", key, reply, failure));
    }

    /**
     * Limits the grant to the certain time of the shared lease. The parallel keep-alive usually answers first and makes
     * that nearly the full lease. This method waits longer for it only if the certain time is short.
     */
    private CompletableFuture<AcquireResult> granted(
            EtcdAcquisition acquisition,
            AcquireRequest request,
            Deadline deadline,
            CompletableFuture<Void> fresh,
            AttemptReply.Held held) {
        if (fresh.isDone()) {
            return CompletableFuture.completedFuture(grant(acquisition, request, deadline, held));
        }
        boolean enough = certainMillis(acquisition, request, deadline) >= request.leaseMillis() / 2;
        long waitMillis = Math.min(deadline.leftMillis() / 2, enough ? 100 : Long.MAX_VALUE);
        return calls.bounded(fresh, waitMillis).handle((ok, failure) -> grant(acquisition, request, deadline, held));
    }

    private static long certainMillis(EtcdAcquisition acquisition, AcquireRequest request, Deadline deadline) {
        long certain = acquisition.certainNanos(deadline.startNanos());
        return Math.min(request.leaseMillis(), TimeUnit.NANOSECONDS.toMillis(certain));
    }

    private AcquireResult grant(
            EtcdAcquisition acquisition, AcquireRequest request, Deadline deadline, AttemptReply.Held held) {
        long certain = certainMillis(acquisition, request, deadline);
        if (certain < 1) {
            throw new LockUnavailableException(
                    acquisition.lease() + " could not be renewed in time; check that the cluster has a leader");
        }
        Grant grant = new Grant(request.acquisition(), held.revision(), certain, held.slot(), acquisition);
        Grant before = acquisition.grant();
        if (!acquisition.hold(grant, request.leaseMillis())) {
            throw new LockUnavailableException("its key was deleted before the answer arrived");
        }
        if (before != null && before.token() != grant.token()) {
            onVoid.accept(before);
        }
        return new AcquireResult.Granted(grant);
    }

    /** Leaves the queue. It writes no tombstones, since the acquisition may try again. */
    private CompletableFuture<?> leave(EtcdAcquisition acquisition, Deadline deadline) {
        CompletableFuture<Boolean> left = protocol.queues()
                ? calls.bounded(writes.removeAsSeen(acquisition), deadline.leftMillis())
                : CompletableFuture.completedFuture(true);
        return left.thenAccept(gone -> {
            if (!gone) {
                throw new LockUnavailableException("its key changed while the attempt left the queue");
            }
            if (acquisition.openCreations().isEmpty()) {
                onLeft.accept(acquisition);
            }
        });
    }
}
