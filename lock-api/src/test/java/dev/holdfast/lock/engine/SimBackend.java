package dev.holdfast.lock.engine;

import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.LossReason;
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
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A client's connection to the {@link SimStore} through a faulty network. Requests and replies are slow, late by seconds,
 * lost, repeated, or answered with an error, and may have taken effect before the error, after it, or not at all. Leases are
 * shorter than requested, renewals have unknown results, and answers come within the call. A thread may be paused before it
 * sends.
 */
final class SimBackend implements LockBackend {
    private final SimWorld world;
    private final SimWorld.Machine machine;
    private final SimStore store;
    private final double faults;
    private final BackendInfo info;
    /** The part of each requested lease that the store keeps. */
    private final double keptShare;
    /** The grants through this backend, for reports. */
    private final Map<OwnerId, Grant> granted = new HashMap<>();
    /** When a grant was reported as suspect; removed once a renewal that was sent later has been answered. */
    final Map<OwnerId, Long> doubts = new HashMap<>();

    private @Nullable GrantListener listener;
    /** Set when the run should end. */
    boolean calm;

    int injected;
    int unclearRenewals;
    int stops;
    /** Requests that arrived after their failure was reported. */
    int late;

    SimBackend(SimWorld world, SimWorld.Machine machine, SimStore store, BackendInfo info, double faults) {
        this.world = world;
        this.machine = machine;
        this.store = store;
        this.faults = faults;
        this.keptShare = world.chance(0.2) ? 0.3 + 0.7 * world.random.nextDouble() : 1;
        this.info = info;
    }

    @Override
    public BackendInfo info() {
        return info;
    }

    /**
     * May pause the thread just before it sends, for longer than any time-out; returns false if its process has ended
     * meanwhile.
     */
    private boolean reachesTheNetwork() {
        if (!calm && world.chance(faults * 0.05)) {
            stops++;
            injected++;
            long sinceNanos = world.now();
            world.standStill(world.millis(1, 6000));
            machine.pausedNanos += world.now() - sinceNanos; // longer, if another thread was paused meanwhile
        }
        return !machine.dead;
    }

    private <T> CompletionStage<T> call(boolean repeatable, Supplier<T> effect) {
        CompletableFuture<T> reply = new CompletableFuture<>();
        long there = 100_000 + (long) (world.random.nextDouble() * 3_000_000);
        long back = 100_000 + (long) (world.random.nextDouble() * 3_000_000);
        if (calm || !world.chance(faults)) {
            world.after(null, there, () -> answer(reply, back, effect.get()));
            return reply;
        }
        injected++;
        if (world.chance(0.1)) {
            return inline(effect);
        }
        switch (world.random.nextInt(9)) {
            case 0 -> fail(reply, there, new LockUnavailableException("refused"));
            case 1 -> {} // the request is lost without an error
            case 2 -> world.after(null, there, effect::get); // the reply is lost without an error
            case 3 ->
                world.after(null, there, () -> {
                    effect.get();
                    fail(reply, back, new LockUnavailableException("connection reset"));
                });
            case 4 -> world.after(null, there, () -> answer(reply, world.millis(10, 4000), effect.get()));
            case 5 -> world.after(null, world.millis(10, 4000), () -> answer(reply, back, effect.get()));
            case 6 -> { // repeated by the network, the second time late
                world.after(null, there, () -> answer(reply, back, effect.get()));
                if (repeatable) {
                    world.after(null, there + world.millis(1, 3000), effect::get);
                }
            }
            case 7 -> { // fails here while the request still travels
                fail(reply, there, new LockUnavailableException("time-out"));
                world.after(null, world.millis(5, 4000), () -> {
                    late++;
                    effect.get();
                });
            }
            default -> {
                if (world.chance(0.1)) {
                    fail(reply, there, new LockConfigurationException("no permission"));
                } else {
                    machine.pause(world.millis(1, 5000));
                    world.after(null, there, () -> answer(reply, back, effect.get()));
                }
            }
        }
        return reply;
    }

    private <T> void answer(CompletableFuture<T> reply, long delay, T result) {
        world.after(machine, delay, () -> reply.complete(result));
    }

    private <T> void fail(CompletableFuture<T> reply, long delay, RuntimeException error) {
        world.after(machine, delay, () -> reply.completeExceptionally(error));
    }

    /** Whether it returns an unhelpful but allowed answer this time. */
    private boolean drawUnclear() {
        boolean unclear = !calm && world.chance(faults);
        if (unclear) {
            unclearRenewals++;
            injected++;
        }
        return unclear;
    }

    /** The part of a requested lease that the store keeps. */
    long keptMillis(long leaseMillis) {
        return Math.max(1, (long) (leaseMillis * keptShare));
    }

    /**
     * The store may keep leases for a shorter time than requested. It is the same time for each attempt; otherwise a late
     * attempt would shorten the lease.
     */
    private AcquireRequest shorter(AcquireRequest request) {
        long leaseMillis = keptMillis(request.leaseMillis());
        Consumer<Grant> onHandOver = request.onHandOver();
        return new AcquireRequest(
                request.acquisition(),
                leaseMillis,
                request.waitMillis(),
                request.fair(),
                request.ticket(),
                request.timeoutMillis(),
                request.identity(),
                onHandOver == null ? null : grant -> handOver(onHandOver, grant));
    }

    /** The message may be late or lost, like any. */
    private void handOver(Consumer<Grant> onHandOver, Grant grant) {
        granted.put(grant.acquisition().owner(), grant);
        boolean disturbed = !calm && world.chance(faults);
        if (!disturbed || world.chance(0.5)) {
            long delay = disturbed ? world.millis(10, 6000) : 500_000;
            world.after(machine, delay, () -> onHandOver.accept(grant));
        }
        injected += disturbed ? 1 : 0;
    }

    /** The answer is complete when the call returns. */
    private <T> CompletionStage<T> inline(Supplier<T> effect) {
        return CompletableFuture.completedFuture(effect.get());
    }

    /** Renewed with an unknown result, or confirmed for less than the store keeps. */
    private RenewResult unclear(RenewResult result) {
        if (!(result instanceof RenewResult.Renewed renewed) || !drawUnclear()) {
            return result;
        }
        return world.chance(0.5)
                ? new RenewResult.Unknown("unclear", null)
                : new RenewResult.Renewed(1 + (long) (renewed.leaseMillis() * world.random.nextDouble()));
    }

    @Override
    public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
        if (!reachesTheNetwork()) {
            return new CompletableFuture<>();
        }
        long sent = store.nextRequest();
        AcquireRequest kept = shorter(request);
        CompletionStage<AcquireResult> reply = call(false, () -> {
            AcquireResult answer = store.tryAcquire(kept, machine, sent);
            if (answer instanceof AcquireResult.Granted now) {
                granted.put(request.acquisition().owner(), now.grant());
            }
            return answer;
        });
        if (info.blocking()) { // such a backend enforces the time-out itself
            fail(
                    reply.toCompletableFuture(),
                    request.timeoutMillis() * 1_000_000,
                    new LockUnavailableException("timed out"));
        }
        return reply;
    }

    @Override
    public Subscription subscribe(Ticket ticket, Runnable onMaybeFree) {
        SimStore.SimTicket place = (SimStore.SimTicket) ticket;
        Runnable deliver = () -> {
            if (calm || !world.chance(faults)) {
                world.after(machine, 500_000, onMaybeFree);
            }
        };
        if (store.listen(place, deliver)) {
            deliver.run();
        }
        return () -> store.listen(place, null);
    }

    @Override
    public CompletionStage<Void> abandon(AcquisitionId acquisition, long timeoutMillis) {
        if (!reachesTheNetwork()) {
            return new CompletableFuture<>();
        }
        long sent = store.nextRequest();
        return call(true, () -> store.abandon(acquisition, sent)).thenAccept(done -> {});
    }

    @Override
    public CompletionStage<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
        if (!reachesTheNetwork()) {
            return new CompletableFuture<>();
        }
        long sent = world.now();
        return call(
                        true,
                        () -> grants.stream()
                                .map(grant -> unclear(store.renew(grant)))
                                .toList())
                .thenApply(results -> {
                    for (int i = 0; i < grants.size(); i++) {
                        OwnerId owner = grants.get(i).acquisition().owner();
                        if (results.get(i) instanceof RenewResult.Renewed
                                && doubts.getOrDefault(owner, Long.MAX_VALUE) <= sent) {
                            doubts.remove(owner);
                        }
                    }
                    return results;
                });
    }

    @Override
    public void setGrantListener(GrantListener grantListener) {
        listener = grantListener;
    }

    /** The connection is uncertain: reports all of its grants as suspect, like ZooKeeper's client. */
    void suspectAll() {
        granted.forEach((owner, grant) -> {
            doubts.put(owner, world.now());
            if (listener != null) {
                listener.suspect(grant, "suspended");
            }
        });
    }

    /** Reports, after a delay, the end of a grant that an administrator has deleted. */
    void reportLost(OwnerId owner) {
        Grant grant = granted.get(owner);
        GrantListener current = listener;
        if (grant != null && current != null) {
            world.after(machine, world.millis(0, 50), () -> current.lost(grant, LossReason.REVOKED, "deleted"));
        }
    }

    @Override
    public CompletionStage<ReleaseResult> release(Grant grant, long timeoutMillis) {
        return reachesTheNetwork() ? call(true, () -> store.release(grant)) : new CompletableFuture<>();
    }

    @Override
    public CompletionStage<Optional<HolderInfo>> holder(String name, long timeoutMillis) {
        return CompletableFuture.completedFuture(Optional.empty());
    }

    @Override
    public void close() {}
}
