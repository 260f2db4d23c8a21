package dev.holdfast.lock;

import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Work that an executor runs under a lease that is acquired asynchronously. However it ends, the lease is closed once. */
final class LeasedWork<T extends @Nullable Object> {
    private final CompletableFuture<Lease> acquisition;
    private final Executor executor;
    private final Function<? super Lease, ? extends CompletionStage<T>> work;
    private final CompletableFuture<T> result = new CompletableFuture<>();

    private LeasedWork(
            CompletableFuture<Lease> acquisition,
            Executor executor,
            Function<? super Lease, ? extends CompletionStage<T>> work) {
        this.acquisition = acquisition;
        this.executor = executor;
        this.work = work;
    }

    static <T extends @Nullable Object> CompletableFuture<T> run(
            CompletableFuture<Lease> acquisition,
            Executor executor,
            Function<? super Lease, ? extends CompletionStage<T>> work) {
        LeasedWork<T> leased = new LeasedWork<>(acquisition, executor, work);
        leased.result.whenComplete((value, failure) -> acquisition.cancel(false));
        acquisition.whenComplete(leased::acquired);
        return leased.result;
    }

    private void acquired(@Nullable Lease lease, @Nullable Throwable failure) {
        if (lease == null) {
            result.completeExceptionally(Objects.requireNonNull(failure));
            return;
        }
        try {
            executor.execute(() -> begin(lease));
        } catch (RuntimeException | Error rejected) {
            close(lease, null, rejected);
        }
    }

    private void begin(Lease lease) {
        if (result.isDone()) { // cancelled: the work has not begun
            close(lease, null, null);
            return;
        }
        CompletionStage<T> stage;
        try {
            stage = Objects.requireNonNull(work.apply(lease), "the work returned null instead of a stage");
        } catch (Throwable e) {
            close(lease, null, e);
            return;
        }
        stage.whenComplete((value, failure) -> ended(lease, value, failure));
    }

    /** A release waits for the store, which must not hold up the thread that completed the stage. */
    private void ended(Lease lease, @Nullable T value, @Nullable Throwable failure) {
        try {
            executor.execute(() -> close(lease, value, failure));
        } catch (RuntimeException | Error rejected) {
            close(lease, value, failure);
        }
    }

    /** The work's failure comes before that of the release, which is suppressed, as with try-with-resources. */
    @SuppressWarnings("NullAway") // the value may be null if T may
    private void close(Lease lease, @Nullable T value, @Nullable Throwable failure) {
        Throwable outcome =
                failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
        try {
            lease.close();
        } catch (Throwable e) {
            if (outcome == null) {
                outcome = e;
            } else if (outcome != e) {
                outcome.addSuppressed(e);
            }
        }
        if (outcome == null) {
            result.complete(value);
        } else {
            result.completeExceptionally(outcome);
        }
    }
}
