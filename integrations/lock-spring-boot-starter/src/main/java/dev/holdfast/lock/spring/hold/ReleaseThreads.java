package dev.holdfast.lock.spring.hold;

import dev.holdfast.lock.spi.support.ClientThreads;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Threads that release locks, since a release blocks and the thread that completes a future may be the very one that has to read
 * the store's answer. They run nothing else: what depends on a future runs on that future's default executor, so that it cannot
 * keep another release from running. Idle threads end. Thread-safe.
 */
final class ReleaseThreads implements Executor, AutoCloseable {
    private static final int MAX_THREADS = 16;
    private static final int IDLE_SECONDS = 10;

    private final AtomicInteger count = new AtomicInteger();
    private final ThreadPoolExecutor threads = new ThreadPoolExecutor(
            MAX_THREADS,
            MAX_THREADS,
            IDLE_SECONDS,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(),
            task -> ClientThreads.daemon("holdfast-release-" + count.incrementAndGet(), task));

    ReleaseThreads() {
        threads.allowCoreThreadTimeOut(true);
    }

    /** Runs a release on one of the threads; after {@link #close} on the calling thread. */
    @Override
    public void execute(Runnable release) {
        try {
            threads.execute(release);
        } catch (RejectedExecutionException closed) {
            release.run();
        }
    }

    /** Gives a hold back when a stage is complete. The result completes after that, as the stage did. */
    <T> CompletableFuture<T> releaseAfter(CompletionStage<T> stage, Hold hold) {
        CompletableFuture<T> result = new CompletableFuture<>();
        boolean reportsState = stage.getClass()
                == CompletableFuture.class; // a minimal stage is a subclass, but does not report its state
        if (reportsState && stage.toCompletableFuture().isDone()) {
            stage.whenComplete((value, failure) -> complete(result, value, endOf(hold, failure)));
            return result;
        }
        stage.whenComplete((value, failure) -> execute(() -> {
            Throwable end = endOf(hold, failure);
            result.defaultExecutor().execute(() -> complete(result, value, end));
        }));
        return result;
    }

    private static @Nullable Throwable endOf(Hold hold, @Nullable Throwable failure) {
        try {
            hold.releaseAfter(failure);
            return failure;
        } catch (RuntimeException loss) {
            return loss;
        }
    }

    private static <T> void complete(CompletableFuture<T> result, T value, @Nullable Throwable failure) {
        if (failure == null) {
            result.complete(value);
        } else {
            result.completeExceptionally(failure);
        }
    }

    @Override
    public void close() {
        threads.shutdown();
    }
}
