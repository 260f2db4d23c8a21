package dev.holdfast.lock.spi.support;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Runs a limited number of calls at a time; further calls wait in their order. A backend whose requests share one connection sends
 * attempts through it, but renewals and releases directly: so a renewal waits behind few attempts, however many acquisitions begin
 * at once.
 *
 * <p>Thread-safe; never blocks. A call must end in bounded time, or its place stays taken.
 */
public final class CallLimit {
    private final int limit;
    private final ReentrantLock mutex = new ReentrantLock();
    private final Deque<Waiting> waiting = new ArrayDeque<>();
    private int running;
    /** How often {@link #startNext} was called during its present run. */
    private final AtomicInteger starts = new AtomicInteger();

    /**
     * Creates a limit.
     *
     * @param limit the number of calls at a time
     */
    public CallLimit(int limit) {
        this.limit = limit;
    }

    private record Waiting(Runnable start, BooleanSupplier isOver) {}

    /**
     * Makes the call, at once or later, on any thread. A call whose time is over before it could start is not made and
     * has no result: its caller has given it up, and a thousand failures at a time would delay renewals. So nothing may wait
     * for this result without a time limit; a caller that counts unanswered calls counts them in {@code call}.
     *
     * @param <T> the call's result
     * @param call starts the call, and returns its result to come
     * @param isOver whether the call's time is over; asked before it starts
     * @return the result or the failure of the call
     */
    public <T> CompletableFuture<T> run(Supplier<CompletableFuture<T>> call, BooleanSupplier isOver) {
        CompletableFuture<T> result = new CompletableFuture<>();
        AtomicBoolean hasLeft = new AtomicBoolean();
        mutex.lock();
        try {
            waiting.add(new Waiting(() -> start(call, result, hasLeft), isOver));
        } finally {
            mutex.unlock();
        }
        startNext();
        return result;
    }

    /** An Error leaves its place too, even without memory for its caller's answer. */
    private <T> void start(Supplier<CompletableFuture<T>> call, CompletableFuture<T> result, AtomicBoolean hasLeft) {
        try {
            call.get().whenComplete((value, failure) -> {
                leave(hasLeft);
                if (failure == null) {
                    result.complete(value);
                } else {
                    result.completeExceptionally(failure);
                }
            });
        } catch (Throwable e) {
            leave(hasLeft);
            result.completeExceptionally(e);
        }
    }

    private void leave(AtomicBoolean hasLeft) {
        if (hasLeft.getAndSet(true)) {
            return;
        }
        mutex.lock();
        try {
            running--;
        } finally {
            mutex.unlock();
        }
        startNext();
    }

    /** Not recursive: a call that ends at once calls this method again, which then only counts. */
    private void startNext() {
        if (starts.getAndIncrement() != 0) {
            return;
        }
        do {
            for (Runnable next = next(); next != null; next = next()) {
                run(next);
            }
        } while (starts.decrementAndGet() != 0);
    }

    private static void run(Runnable start) {
        try {
            start.run();
        } catch (Throwable ignored) {
            // No memory to tell the caller, whose time ends in any case. The next calls must start.
        }
    }

    private @Nullable Runnable next() {
        mutex.lock();
        try {
            Waiting next = running < limit ? waiting.poll() : null;
            while (next != null && next.isOver().getAsBoolean()) {
                next = waiting.poll();
            }
            running += next == null ? 0 : 1;
            return next == null ? null : next.start();
        } finally {
            mutex.unlock();
        }
    }
}
