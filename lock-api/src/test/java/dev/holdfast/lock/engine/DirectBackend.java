package dev.holdfast.lock.engine;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.BackendInfo;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.Ticket;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** A store with a queue and all demands. It answers within the call and counts requests; signals come in virtual time. */
public final class DirectBackend implements LockBackend {
    private final SimWorld world;
    private final SimWorld.Machine machine;
    public final SimStore store;
    public final List<AcquireRequest> attempts = new ArrayList<>();
    public final List<Grant> released = new ArrayList<>();
    public final List<AcquisitionId> abandoned = new ArrayList<>();
    /** Scripted answers to the next attempts. */
    public final Queue<CompletionStage<AcquireResult>> answers = new ArrayDeque<>();
    /** Runs while an attempt is out. */
    public Runnable duringAttempt = () -> {};

    public DirectBackend(SimWorld world, SimWorld.Machine machine) {
        this.world = world;
        this.machine = machine;
        this.store = new SimStore(world, SimKind.ANY, true, false, false, SimStore.Fault.NONE);
    }

    @Override
    public BackendInfo info() {
        return BackendInfo.named("direct")
                .fifo(true)
                .minLeaseMillis(1)
                .pollMinMillis(1_000)
                .pollMaxMillis(1_000)
                .ordered(true)
                .demands(EnumSet.allOf(Demand.Kind.class))
                .build();
    }

    @Override
    public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
        attempts.add(request);
        duringAttempt.run();
        CompletionStage<AcquireResult> planned = answers.poll();
        return planned != null
                ? planned
                : CompletableFuture.completedStage(store.tryAcquire(request, machine, store.nextRequest()));
    }

    @Override
    public Subscription subscribe(Ticket ticket, Runnable onMaybeFree) {
        SimStore.SimTicket place = (SimStore.SimTicket) ticket;
        Runnable deliver = () -> world.after(machine, 0, onMaybeFree);
        if (store.listen(place, deliver)) {
            deliver.run();
        }
        return () -> store.listen(place, null);
    }

    @Override
    public CompletionStage<Void> abandon(AcquisitionId acquisition, long timeoutMillis) {
        abandoned.add(acquisition);
        store.abandon(acquisition, store.nextRequest());
        return CompletableFuture.completedStage(null);
    }

    @Override
    public CompletionStage<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
        return CompletableFuture.completedStage(
                grants.stream().map(store::renew).toList());
    }

    @Override
    public CompletionStage<ReleaseResult> release(Grant grant, long timeoutMillis) {
        released.add(grant);
        return CompletableFuture.completedStage(store.release(grant));
    }

    @Override
    public CompletionStage<Optional<HolderInfo>> holder(String name, long timeoutMillis) {
        return CompletableFuture.completedStage(Optional.empty());
    }

    @Override
    public void close() {}
}
