package dev.holdfast.lock.engine;

import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.BackendInfo;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Ticket;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** A store whose attempts, renewals and releases the test answers; abandonments are answered immediately. */
final class StepBackend implements LockBackend {
    private static final BackendInfo INFO = BackendInfo.named("step")
            .minLeaseMillis(1)
            .pollMinMillis(1000)
            .pollMaxMillis(1000)
            .build();

    /** An entry in the store's queue. */
    record Place() implements Ticket {}

    /** An attempt without an answer so far. */
    record Attempt(AcquisitionId acquisition, long sentNanos, CompletableFuture<AcquireResult> answer) {}

    private final LongSupplier clock;

    @Nullable Attempt attempt;

    @Nullable CompletableFuture<List<RenewResult>> renewal;
    /** Attempts that have no answer so far. */
    final List<CompletableFuture<ReleaseResult>> releases = new ArrayList<>();

    final List<AcquisitionId> attempted = new ArrayList<>();
    final List<AcquisitionId> released = new ArrayList<>();
    final List<AcquisitionId> abandoned = new ArrayList<>();

    StepBackend(LongSupplier clock) {
        this.clock = clock;
    }

    @Override
    public BackendInfo info() {
        return INFO;
    }

    @Override
    public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
        attempted.add(request.acquisition());
        Attempt next = new Attempt(request.acquisition(), clock.getAsLong(), new CompletableFuture<>());
        attempt = next;
        return next.answer();
    }

    @Override
    public CompletionStage<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
        CompletableFuture<List<RenewResult>> next = new CompletableFuture<>();
        renewal = next;
        return next;
    }

    @Override
    public CompletionStage<ReleaseResult> release(Grant grant, long timeoutMillis) {
        released.add(grant.acquisition());
        CompletableFuture<ReleaseResult> next = new CompletableFuture<>();
        releases.add(next);
        return next;
    }

    @Override
    public CompletionStage<Void> abandon(AcquisitionId acquisition, long timeoutMillis) {
        abandoned.add(acquisition);
        return CompletableFuture.completedFuture(null);
    }

    @Override
    public CompletionStage<Optional<HolderInfo>> holder(String name, long timeoutMillis) {
        return CompletableFuture.completedFuture(Optional.empty());
    }

    @Override
    public void close() {}
}
