package dev.holdfast.lock.etcd;

import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.spi.Acquisition;
import dev.holdfast.lock.spi.Attempt;
import dev.holdfast.lock.spi.AttemptRequest;
import dev.holdfast.lock.spi.BackendInfo;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.GrantObserver;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.Ticket;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.kv.TxnResponse;
import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.CmpTarget;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.DeleteOption;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Locks on etcd, as the engine uses them: see {@link QueueProtocol}, {@link SharedLeases} and {@link EtcdPlace}. */
final class EtcdLockBackend implements LockBackend {
    private static final Logger LOG = LoggerFactory.getLogger(EtcdLockBackend.class);
    private static final BackendInfo QUEUE_INFO = new BackendInfo("etcd", false, true, 2_000, 5_000, 5_000);
    private static final BackendInfo SINGLE_INFO = new BackendInfo("etcd", false, false, 2_000, 5_000, 5_000);
    private static final long CLOSE_MILLIS = 2_000;

    private final EtcdProtocol protocol;
    private final EtcdKeys keys;
    private final Runnable afterClose;
    private final ScheduledThreadPoolExecutor executor;
    private final EtcdCalls calls;
    private final SharedLeases leases;
    private final EtcdRenewal renewal;
    private final QueueSlots slots = new QueueSlots();
    private final ConcurrentMap<OwnerId, EtcdPlace> places = new ConcurrentHashMap<>();
    private volatile @Nullable GrantObserver observer;

    EtcdLockBackend(EtcdConnection connection, String prefix, EtcdMode mode) {
        this.keys = new EtcdKeys(prefix);
        this.protocol = mode == EtcdMode.QUEUE ? new QueueProtocol(keys) : new SingleKeyProtocol(keys);
        this.afterClose = connection.afterClose();
        this.executor = new ScheduledThreadPoolExecutor(1, task -> {
            Thread thread = new Thread(task, "holdfast-etcd");
            thread.setDaemon(true);
            return thread;
        });
        executor.setRemoveOnCancelPolicy(true);
        this.calls = new EtcdCalls(connection.client(), executor);
        this.leases = new SharedLeases(calls, this::leaseGone);
        this.renewal = new EtcdRenewal(calls, leases, this::forget);
    }

    @Override
    public BackendInfo info() {
        return protocol.queues() ? QUEUE_INFO : SINGLE_INFO;
    }

    @Override
    public void observe(GrantObserver observer) {
        this.observer = observer;
    }

    @Override
    public CompletionStage<Attempt> attempt(AttemptRequest request) {
        EtcdPlace place = places.computeIfAbsent(request.acquisition().owner(), owner -> newPlace(request));
        Deadline deadline = new Deadline(System.nanoTime(), request.timeoutMillis());
        return translated(request.acquisition(), attempt(place, request, deadline, true));
    }

    private EtcdPlace newPlace(AttemptRequest request) {
        String name = request.acquisition().name();
        QueueSlots.Slot slot = slots.take(name);
        return new EtcdPlace(request.acquisition(), slot, protocol.key(name, slot), request.identity());
    }

    private CompletableFuture<Attempt> attempt(
            EtcdPlace place, AttemptRequest request, Deadline deadline, boolean again) {
        long ttl = SharedLeases.ttlSeconds(request.leaseMillis());
        return leases.obtain(ttl, deadline.leftMillis()).thenCompose(lease -> {
            place.enter(lease);
            CompletableFuture<Void> fresh = lease.ageNanos(System.nanoTime()) > lease.ttlNanos() / 20
                    ? leases.renew(lease, deadline.leftMillis())
                    : CompletableFuture.completedFuture(null);
            return send(place, lease, deadline)
                    .thenCompose(reply -> finish(place, request, deadline, fresh, protocol.outcome(place, reply)))
                    .exceptionallyCompose(failure -> {
                        if (EtcdErrors.isLeaseGone(failure) && again) {
                            leases.gone(lease, "etcd refused to put a key on it");
                            return attempt(place, request, deadline, false);
                        }
                        return CompletableFuture.failedFuture(failure);
                    });
        });
    }

    /** Sends an attempt, unless its acquisition is being ended: {@link #withdraw} looks for open attempts after that. */
    private CompletableFuture<TxnResponse> send(EtcdPlace place, SharedLease lease, Deadline deadline) {
        place.sent(lease);
        if (place.isEnding()) {
            place.settled(lease);
            return CompletableFuture.failedFuture(ended(place));
        }
        CompletableFuture<TxnResponse> call = EtcdCalls.guarded(
                        () -> protocol.attempt(calls.txn(), place, lease).commit())
                .whenComplete((reply, failure) -> {
                    if (failure == null) {
                        calls.seen(reply);
                    }
                    if (failure == null || EtcdErrors.isRefusal(failure)) {
                        place.settled(lease);
                    }
                });
        return calls.bounded(call, deadline.leftMillis());
    }

    private static LockUnavailableException ended(EtcdPlace place) {
        return new LockUnavailableException(
                "lock '" + place.acquisition().name() + "': the acquisition was abandoned before this attempt");
    }

    private CompletableFuture<Attempt> finish(
            EtcdPlace place,
            AttemptRequest request,
            Deadline deadline,
            CompletableFuture<Void> fresh,
            Outcome outcome) {
        if (outcome instanceof Outcome.Held held) {
            if (held.leaseId() != 0) {
                leases.byId(held.leaseId()).ifPresent(place::enter);
            }
            return granted(place, request, deadline, fresh, held.revision());
        }
        if (place.isEnding() || outcome instanceof Outcome.Ended) {
            return CompletableFuture.failedFuture(ended(place));
        }
        if (outcome instanceof Outcome.Taken taken) {
            move(place, taken.value());
        }
        if (!(outcome instanceof Outcome.Queued)) {
            return deadline.leftMillis() > 0
                    ? attempt(place, request, deadline, true)
                    : CompletableFuture.failedFuture(new TimeoutException("no time left to try again"));
        }
        EtcdTicket ticket = ((Outcome.Queued) outcome).ticket();
        if (request.waitMillis() == 0) {
            return leave(place, deadline).thenApply(gone -> new Attempt.Busy(-1, null));
        }
        place.waiting();
        SharedLease lease = place.lease();
        if (lease != null) {
            leases.lookAfter(lease);
        }
        return CompletableFuture.completedFuture(new Attempt.Busy(-1, ticket));
    }

    /**
     * The key was written, after all, by an attempt of an ended acquisition that was believed to have been refused. It is
     * deleted, and not used again.
     */
    private void move(EtcdPlace place, ByteSequence value) {
        ByteSequence key = place.key();
        String name = place.acquisition().name();
        QueueSlots.Slot slot = slots.take(name);
        place.move(slot, protocol.key(name, slot));
        EtcdCalls.guarded(() -> calls.txn()
                        .If(new Cmp(key, Cmp.Op.EQUAL, CmpTarget.value(value)))
                        .Then(Op.delete(key, DeleteOption.DEFAULT))
                        .commit())
                .whenComplete((reply, failure) -> LOG.debug("{} was left over; deleted: {}", key, reply, failure));
    }

    /**
     * Reports no more of the shared lease than what is certain. The keep-alive that was sent beside the transaction makes
     * that nearly all of it; it usually answers first, and is waited for longer only if the rest is short.
     */
    private CompletableFuture<Attempt> granted(
            EtcdPlace place, AttemptRequest request, Deadline deadline, CompletableFuture<Void> fresh, long revision) {
        if (fresh.isDone()) {
            return CompletableFuture.completedFuture(grant(place, request, deadline, revision));
        }
        boolean enough = certainMillis(place, request, deadline) >= request.leaseMillis() / 2;
        long patience = Math.min(deadline.leftMillis() / 2, enough ? 100 : Long.MAX_VALUE);
        return calls.bounded(fresh, patience).handle((ok, failure) -> grant(place, request, deadline, revision));
    }

    private static long certainMillis(EtcdPlace place, AttemptRequest request, Deadline deadline) {
        SharedLease lease = place.lease();
        long certain = lease == null || lease.isGone() ? 0 : lease.certainNanos(deadline.startNanos());
        return Math.min(request.leaseMillis(), TimeUnit.NANOSECONDS.toMillis(certain));
    }

    private static Attempt grant(EtcdPlace place, AttemptRequest request, Deadline deadline, long revision) {
        long certain = certainMillis(place, request, deadline);
        if (certain < 1) {
            throw new LockUnavailableException("lock '" + request.acquisition().name() + "': " + place.lease()
                    + " could not be renewed in time; see whether the cluster has a leader");
        }
        Grant grant = new Grant(request.acquisition(), revision, certain, place);
        place.held(grant, request.leaseMillis());
        return new Attempt.Granted(grant);
    }

    @Override
    public Subscription signal(Ticket ticket, Runnable maybeFree) {
        EtcdTicket ours = (EtcdTicket) ticket;
        EtcdPlace place = ours.place();
        DeletionWatch watch = new DeletionWatch(calls, ours, maybeFree);
        place.onWake(maybeFree);
        watch.open();
        SharedLease lease = place.lease();
        if (lease == null || lease.isGone()) {
            executor.execute(maybeFree);
        }
        return () -> {
            place.onWake(null);
            watch.close();
        };
    }

    @Override
    public CompletionStage<Void> abandon(Acquisition acquisition, long timeoutMillis) {
        EtcdPlace place = places.get(acquisition.owner());
        if (place == null) {
            return CompletableFuture.completedFuture(null);
        }
        Deadline deadline = new Deadline(System.nanoTime(), timeoutMillis);
        return translated(acquisition, withdraw(place, 0, deadline).thenApply(there -> null));
    }

    @Override
    public CompletionStage<ReleaseResult> release(Grant grant, long timeoutMillis) {
        EtcdPlace place = EtcdPlace.of(grant);
        if (place == null) {
            return CompletableFuture.completedFuture(ReleaseResult.NOT_HELD);
        }
        Deadline deadline = new Deadline(System.nanoTime(), timeoutMillis);
        return translated(
                grant.acquisition(),
                withdraw(place, grant.token(), deadline)
                        .thenApply(there -> there ? ReleaseResult.RELEASED : ReleaseResult.NOT_HELD));
    }

    /** Removes the key and, for each lease on which an attempt may still arrive, leaves a tombstone on that lease. */
    private CompletableFuture<Boolean> withdraw(EtcdPlace place, long revision, Deadline deadline) {
        place.ending();
        EtcdBurial burial = new EtcdBurial(calls, protocol, keys, leases);
        return burial.of(place, revision, place.unsettledLeases(), deadline).thenApply(there -> {
            place.buried();
            forget(place);
            return there;
        });
    }

    /** Does not wait in the queue. The acquisition may try again, so it gets no tombstones. */
    private CompletableFuture<?> leave(EtcdPlace place, Deadline deadline) {
        EtcdBurial burial = new EtcdBurial(calls, protocol, keys, leases);
        CompletableFuture<Boolean> left =
                protocol.queues() ? burial.of(place, 0, List.of(), deadline) : CompletableFuture.completedFuture(false);
        return left.thenAccept(there -> {
            if (place.unsettledLeases().isEmpty()) {
                forget(place);
            }
        });
    }

    private void forget(EtcdPlace place) {
        place.ended();
        if (places.remove(place.acquisition().owner(), place) && place.giveBack()) {
            slots.giveBack(place.acquisition().name(), place.slot());
        }
        SharedLease lease = place.lease();
        if (lease != null) {
            leases.left(lease);
        }
    }

    @Override
    public CompletionStage<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
        return renewal.renew(grants, timeoutMillis);
    }

    /** Called for each key on a lease that has ended on the server. */
    private void leaseGone(EtcdPlace place, String detail) {
        Grant grant = place.grant();
        if (place.isHeld() && grant != null) {
            forget(place);
            GrantObserver ear = observer;
            if (ear != null) {
                ear.lost(grant, LossReason.REVOKED, detail);
            }
        } else {
            place.wake();
        }
    }

    @Override
    public CompletionStage<Optional<HolderInfo>> holder(String name, long timeoutMillis) {
        var call = calls.get(protocol.holderKey(name), protocol.holderOption());
        return calls.bounded(call, timeoutMillis)
                .thenApply(reply -> reply.getKvs().stream().findFirst().map(EtcdValue::holder))
                .exceptionallyCompose(failure ->
                        CompletableFuture.failedFuture(EtcdErrors.translate("holder of lock '" + name + "'", failure)));
    }

    private static <T> CompletableFuture<T> translated(Acquisition acquisition, CompletableFuture<T> stage) {
        return stage.exceptionallyCompose(failure ->
                CompletableFuture.failedFuture(EtcdErrors.translate("lock '" + acquisition.name() + "'", failure)));
    }

    @Override
    public void close() {
        try {
            leases.close().get(CLOSE_MILLIS, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (ExecutionException | TimeoutException e) {
            LOG.debug("leases could not be revoked on close, they end by themselves", e);
        }
        executor.shutdownNow();
        afterClose.run();
    }
}
