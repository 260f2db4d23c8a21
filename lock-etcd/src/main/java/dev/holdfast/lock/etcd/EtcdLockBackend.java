package dev.holdfast.lock.etcd;

import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.LockListing;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.StoreFinding;
import dev.holdfast.lock.etcd.internal.acquisition.ConditionalWrite;
import dev.holdfast.lock.etcd.internal.acquisition.DirectGrant;
import dev.holdfast.lock.etcd.internal.acquisition.EtcdAcquisition;
import dev.holdfast.lock.etcd.internal.acquisition.EtcdTicket;
import dev.holdfast.lock.etcd.internal.acquisition.LeaseMember;
import dev.holdfast.lock.etcd.internal.acquisition.NameWatchPool;
import dev.holdfast.lock.etcd.internal.acquisition.PermitTicket;
import dev.holdfast.lock.etcd.internal.acquisition.QueueHeadTicket;
import dev.holdfast.lock.etcd.internal.acquisition.SharedLease;
import dev.holdfast.lock.etcd.internal.acquisition.SharedLeasePool;
import dev.holdfast.lock.etcd.internal.client.ClientKeyPool;
import dev.holdfast.lock.etcd.internal.client.Deadline;
import dev.holdfast.lock.etcd.internal.client.DeletionWatch;
import dev.holdfast.lock.etcd.internal.client.EtcdCalls;
import dev.holdfast.lock.etcd.internal.client.EtcdExamination;
import dev.holdfast.lock.etcd.internal.client.EtcdFailures;
import dev.holdfast.lock.etcd.internal.client.EtcdKeys;
import dev.holdfast.lock.etcd.internal.queue.EtcdAttempts;
import dev.holdfast.lock.etcd.internal.queue.EtcdHolders;
import dev.holdfast.lock.etcd.internal.queue.EtcdListing;
import dev.holdfast.lock.etcd.internal.queue.EtcdProtocol;
import dev.holdfast.lock.etcd.internal.queue.QueueProtocol;
import dev.holdfast.lock.etcd.internal.queue.SingleKeyProtocol;
import dev.holdfast.lock.etcd.internal.renewal.EtcdRemoval;
import dev.holdfast.lock.etcd.internal.renewal.EtcdRenewal;
import dev.holdfast.lock.etcd.internal.renewal.Withdrawals;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.BackendInfo;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.GrantListener;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.Ticket;
import dev.holdfast.lock.spi.support.Answers;
import dev.holdfast.lock.spi.support.BackgroundLog;
import dev.holdfast.lock.spi.support.CallLimit;
import dev.holdfast.lock.spi.support.ClientThreads;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** The lock backend on etcd: see {@link QueueProtocol}, {@link SharedLeasePool} and {@link EtcdAcquisition}. */
final class EtcdLockBackend implements LockBackend {
    private static final BackgroundLog LOG = BackgroundLog.of(EtcdLockBackend.class);
    private static final long MAX_CLOSE_MILLIS = 2_000;
    /** Time limit of removals after a loss and of revocations at a close; no caller waits for them. */
    private static final long LATE_MILLIS = 3_000;

    private final EtcdProtocol protocol;
    private final Runnable afterClose;
    private final long closeMillis;
    private final ScheduledThreadPoolExecutor executor;
    private final EtcdCalls calls;
    private final SharedLeasePool leases;
    private final EtcdAttempts attempts;
    private final EtcdRenewal renewal;
    private final Withdrawals withdrawals;
    private final NameWatchPool names;
    private final DirectGrant handOver;
    private final ClientKeyPool slots = new ClientKeyPool();
    private final ConcurrentMap<OwnerId, EtcdAcquisition> acquisitions = new ConcurrentHashMap<>();
    private volatile @Nullable GrantListener listener;

    EtcdLockBackend(EtcdConnection connection, String prefix, EtcdMode mode, Duration requestTimeout) {
        this.closeMillis = Math.min(MAX_CLOSE_MILLIS, Math.max(1, requestTimeout.toMillis() * 2 / 3));
        EtcdKeys keys = new EtcdKeys(prefix);
        this.protocol = mode == EtcdMode.QUEUE ? new QueueProtocol(keys) : new SingleKeyProtocol(keys);
        this.afterClose = connection.afterClose();
        this.executor = EtcdCalls.newExecutor();
        this.calls = new EtcdCalls(connection.client(), executor);
        this.leases = new SharedLeasePool(calls, this::leaseEnded);
        ConditionalWrite writes = new ConditionalWrite(calls, keys, leases);
        this.attempts = new EtcdAttempts(
                calls,
                protocol,
                leases,
                writes,
                slots,
                new CallLimit(EtcdAttempts.MAX_CALLS),
                this::remove,
                this::voided);
        this.renewal = new EtcdRenewal(calls, leases, writes, this::lost);
        this.names = new NameWatchPool(calls);
        this.handOver = new DirectGrant(leases);
        this.withdrawals = new Withdrawals(calls, new EtcdRemoval(calls, protocol, keys, leases), this::remove);
    }

    @Override
    public BackendInfo info() {
        return protocol.info();
    }

    @Override
    public void setGrantListener(GrantListener listener) {
        this.listener = listener;
    }

    @Override
    public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
        EtcdAcquisition acquisition =
                acquisitions.computeIfAbsent(request.acquisition().owner(), owner -> newAcquisition(request));
        Deadline deadline = new Deadline(System.nanoTime(), request.timeoutMillis());
        acquisition.beginAttempt(request, deadline.startNanos());
        return translated(attempts.tryAcquire(acquisition, request, deadline, true));
    }

    private EtcdAcquisition newAcquisition(AcquireRequest request) {
        ClientKeyPool.Slot slot = slots.take(request.acquisition().name());
        return new EtcdAcquisition(
                request.acquisition(), slot, protocol.key(request.acquisition(), slot), request.identity());
    }

    @Override
    public Subscription subscribe(Ticket ticket, Runnable onMaybeFree) {
        EtcdTicket ours = (EtcdTicket) ticket;
        EtcdAcquisition acquisition = ours.acquisition();
        Runnable call = () -> {
            acquisition.markNotified();
            onMaybeFree.run();
        };
        // For a lease that has ended. It is a new object each time, because one onMaybeFree may come with
        // several tickets.
        Runnable wake = new Runnable() {
            @Override
            public void run() {
                onMaybeFree.run();
            }
        };
        acquisition.setWakeUp(wake);
        Subscription watch = watch(ours, call);
        SharedLease lease = acquisition.lease();
        if (protocol.queues() && (lease == null || lease.isGone())) { // it ended before the callback was set
            executor.execute(acquisition::wake);
        }
        return () -> {
            acquisition.clearWakeUp(wake);
            watch.close();
        };
    }

    private Subscription watch(EtcdTicket ticket, Runnable call) {
        if (ticket instanceof QueueHeadTicket line) {
            return names.add(line, () -> handOverOrNotify(line, call));
        }
        return ticket instanceof PermitTicket permits
                ? names.add(permits, call)
                : DeletionWatch.open(calls, ticket, call);
    }

    /** Grants the lock to the waiter by a hand-over, or starts another attempt. */
    private void handOverOrNotify(QueueHeadTicket line, Runnable call) {
        if (!handOver.to(line)) {
            call.run();
        }
    }

    @Override
    public CompletionStage<Void> abandon(AcquisitionId id, long timeoutMillis) {
        EtcdAcquisition acquisition = acquisitions.get(id.owner());
        if (acquisition == null) {
            return CompletableFuture.completedFuture(null);
        }
        Deadline deadline = new Deadline(System.nanoTime(), timeoutMillis);
        return translated(withdrawals.withdraw(acquisition, 0, deadline).thenApply(there -> null));
    }

    @Override
    public CompletionStage<ReleaseResult> release(Grant grant, long timeoutMillis) {
        EtcdAcquisition acquisition = EtcdAcquisition.of(grant);
        if (acquisition == null) {
            return CompletableFuture.completedFuture(ReleaseResult.NOT_HELD);
        }
        Deadline deadline = new Deadline(System.nanoTime(), timeoutMillis);
        return translated(withdrawals
                .withdraw(acquisition, grant.token(), deadline)
                .thenApply(there -> there ? ReleaseResult.RELEASED : ReleaseResult.NOT_HELD));
    }

    /** The number of retained entries of acquisitions that have not ended. */
    int size() {
        return acquisitions.size() + slots.names();
    }

    private void remove(EtcdAcquisition acquisition) {
        List<SharedLease> on = acquisition.possibleLeases();
        acquisition.end();
        if (acquisitions.remove(acquisition.id().owner(), acquisition)) {
            if (acquisition.giveBack()) {
                slots.giveBack(acquisition.id().name(), acquisition.ownKey().slot());
            } else {
                slots.retire(acquisition.ownKey().slot());
            }
        }
        on.forEach(leases::revokeIfRetired);
    }

    /** A grant has ended on the server. Deletes what remains of its acquisition, and refuses what may still arrive. */
    private void lost(EtcdAcquisition acquisition) {
        if (acquisition.isEnded()) {
            return;
        }
        acquisition.beginEnd(); // from now on no write is added
        boolean isGone = acquisition.lease() != null
                && acquisition.possibleLeases().stream().allMatch(SharedLease::isGone);
        if (isGone && acquisition.openCreations().isEmpty()) {
            remove(acquisition);
            return;
        }
        Deadline deadline = new Deadline(System.nanoTime(), LATE_MILLIS);
        withdrawals.withdraw(acquisition, 0, deadline).whenComplete((there, failure) -> {
            if (failure != null && !EtcdFailures.isRefusal(failure)) {
                LOG.debug("{}: could not be removed; its leases will expire", acquisition.key(), failure);
                acquisition.possibleLeases().forEach(SharedLease::condemn);
                acquisition.openCreations().forEach(SharedLease::condemn);
                remove(acquisition);
            }
        });
    }

    @Override
    public CompletionStage<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
        return renewal.renew(grants, timeoutMillis);
    }

    /** Called for each member of a lease that has ended on the server. */
    private void leaseEnded(LeaseMember member, String detail) {
        EtcdAcquisition acquisition = (EtcdAcquisition) member;
        Grant grant = acquisition.grant();
        if (acquisition.isEnding()) {
            if (acquisition.openCreations().isEmpty()
                    && acquisition.possibleLeases().stream().allMatch(SharedLease::isGone)) {
                remove(acquisition);
            }
        } else if (!acquisition.isHeld() || grant == null) {
            acquisition.wake();
        } else if (acquisition.possibleLeases().stream().allMatch(SharedLease::isGone)) {
            lost(acquisition);
            GrantListener present = listener;
            if (present != null) {
                present.lost(grant, LossReason.REVOKED, detail);
            }
        } // else the next renewal detects it
    }

    private void voided(Grant grant) {
        GrantListener present = listener;
        if (present != null) {
            present.lost(grant, LossReason.REVOKED, "its key was deleted before the hand-over");
        }
    }

    @Override
    public CompletionStage<Optional<HolderInfo>> holder(String name, long timeoutMillis) {
        return translated(EtcdHolders.of(calls, protocol, name, 1, timeoutMillis)
                .thenApply(holders -> holders.stream().findFirst()));
    }

    @Override
    public CompletionStage<List<HolderInfo>> holders(String name, long timeoutMillis) {
        return translated(EtcdHolders.of(calls, protocol, name, EtcdHolders.MAX_HOLDERS, timeoutMillis));
    }

    @Override
    public CompletionStage<Integer> changeLimit(String name, int from, int to, long timeoutMillis) {
        return translated(calls.bounded(protocol.changeLimit(calls, name, from, to), timeoutMillis));
    }

    @Override
    public CompletionStage<LockListing> list(String prefix, int limit, long timeoutMillis) {
        return translated(EtcdListing.list(calls, protocol, prefix, limit, timeoutMillis));
    }

    @Override
    public CompletionStage<List<StoreFinding>> examine(long timeoutMillis) {
        return EtcdExamination.examine(calls, timeoutMillis);
    }

    /** The messages name no operation. */
    private static <T> CompletableFuture<T> translated(CompletionStage<T> stage) {
        return EtcdFailures.TRANSLATOR.translate("", stage);
    }

    /**
     * Revokes the leases, so that nothing of the client remains. A grant that is still held, although everything else
     * was released, lingers for its {@code minHold}: its lease expires.
     *
     * <p>If the server has not answered the earlier releases, this method does not wait for it again. It never waits
     * for jetcd's own end beyond that time.
     */
    @Override
    public void close() {
        Set<SharedLease> lingering = new HashSet<>();
        acquisitions.values().stream()
                .filter(acquisition -> acquisition.isHeld() && !acquisition.isEnding())
                .forEach(acquisition -> lingering.addAll(acquisition.possibleLeases()));
        names.close();
        boolean unanswered = acquisitions.values().stream().anyMatch(EtcdAcquisition::isEnding);
        CompletableFuture<Void> revoked = leases.close(lingering);
        Thread closing = ClientThreads.daemon("holdfast-etcd-close", () -> endAfter(revoked));
        closing.start();
        try {
            closing.join(unanswered ? 1 : closeMillis);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** So that no thread of the backend outlives it. */
    private void awaitExecutor() {
        try {
            if (!executor.awaitTermination(LATE_MILLIS, TimeUnit.MILLISECONDS)) {
                LOG.debug("the backend's thread still runs after its close");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void endAfter(CompletableFuture<Void> revoked) {
        try {
            Answers.get(revoked, LATE_MILLIS, TimeUnit.MILLISECONDS);
        } catch (InterruptedException | ExecutionException | TimeoutException e) {
            LOG.debug("leases could not be revoked on close; they will expire", e);
        }
        executor.shutdownNow();
        afterClose.run();
        awaitExecutor();
    }
}
