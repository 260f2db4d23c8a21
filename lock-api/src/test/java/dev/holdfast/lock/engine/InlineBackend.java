package dev.holdfast.lock.engine;

import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.BackendInfo;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Subscription;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** An uncontended lock, answered immediately on the calling thread, so that only the engine's own concurrency remains. */
final class InlineBackend implements LockBackend {
    private final BackendInfo info;
    private final AtomicReference<@Nullable AcquisitionId> holder = new AtomicReference<>();
    private final AtomicLong tokens = new AtomicLong();

    /** The answer to releases; null for an immediate one. */
    @Nullable CompletableFuture<ReleaseResult> releaseAnswer;

    /** The answer to attempts; null for an immediate one. */
    @Nullable CompletableFuture<AcquireResult> attemptAnswer;

    /** Runs just before an attempt is sent, while the sending thread is paused. */
    @Nullable Runnable beforeAttempt;

    final List<String> calls = new ArrayList<>();
    final List<AcquisitionId> attempted = new ArrayList<>();
    final List<AcquisitionId> abandoned = new ArrayList<>();

    InlineBackend(boolean ordered) {
        info = BackendInfo.named("inline")
                .minLeaseMillis(1)
                .pollMinMillis(1000)
                .pollMaxMillis(1000)
                .ordered(ordered)
                .build();
    }

    /** A client without timers, whose executors run their tasks immediately. */
    static EngineClient client() {
        return client(new InlineBackend(false), LockClientOptions.defaults());
    }

    /** A waiter for a lease. */
    static AsyncWaiter waiter(long timeoutNanos) {
        return new AsyncWaiter(
                "n", LockOptions.defaults(), timeoutNanos, System.nanoTime(), Runnable::run, Simulation.SimLease::new);
    }

    static EngineClient client(LockBackend backend, LockClientOptions options) {
        EngineRuntime runtime = new EngineRuntime(
                Ticker.SYSTEM,
                ThreadLocalRandom::current,
                (delay, task) -> Subscription.NONE,
                Runnable::run,
                Runnable::run,
                Runnable::run,
                Runnable::run,
                () -> {});
        return new EngineClient(backend, options, runtime).start();
    }

    @Override
    public BackendInfo info() {
        return info;
    }

    @Override
    public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
        Runnable before = beforeAttempt;
        if (before != null) {
            beforeAttempt = null;
            before.run();
        }
        calls.add("attempt");
        attempted.add(request.acquisition());
        CompletableFuture<AcquireResult> later = attemptAnswer;
        if (later != null) {
            return later;
        }
        boolean free = holder.compareAndSet(null, request.acquisition());
        return CompletableFuture.completedFuture(
                free
                        ? new AcquireResult.Granted(
                                new Grant(request.acquisition(), tokens.incrementAndGet(), request.leaseMillis(), null))
                        : new AcquireResult.Busy(-1, null));
    }

    @Override
    public CompletionStage<Void> abandon(AcquisitionId acquisition, long timeoutMillis) {
        calls.add("abandon");
        abandoned.add(acquisition);
        AcquisitionId held = holder.get();
        if (acquisition.equals(held)) {
            holder.compareAndSet(held, null);
        }
        return CompletableFuture.completedFuture(null);
    }

    @Override
    public CompletionStage<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
        return CompletableFuture.completedFuture(grants.stream()
                .map(grant -> grant.acquisition().equals(holder.get())
                        ? new RenewResult.Renewed(grant.leaseMillis())
                        : (RenewResult) new RenewResult.Lost(LossReason.REVOKED, "not the holder"))
                .toList());
    }

    @Override
    public CompletionStage<ReleaseResult> release(Grant grant, long timeoutMillis) {
        AcquisitionId held = holder.get();
        boolean released = grant.acquisition().equals(held) && holder.compareAndSet(held, null);
        CompletableFuture<ReleaseResult> later = releaseAnswer;
        return later != null
                ? later
                : CompletableFuture.completedFuture(released ? ReleaseResult.RELEASED : ReleaseResult.NOT_HELD);
    }

    @Override
    public CompletionStage<Optional<HolderInfo>> holder(String name, long timeoutMillis) {
        return CompletableFuture.completedFuture(Optional.empty());
    }

    boolean isFree() {
        return holder.get() == null;
    }

    @Override
    public void close() {}
}
