package dev.holdfast.lock.engine;

import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** The requests under way, so that none is waited for without end and close can wait for the last one. */
final class InFlightRequests {

    /** One request under way. */
    final class Request {
        private final long deadlineNanos;
        private final @Nullable Runnable onStall;

        private Request(long deadlineNanos, @Nullable Runnable onStall) {
            this.deadlineNanos = deadlineNanos;
            this.onStall = onStall;
        }

        /** By the clock rather than by address, so that a simulated run is the same each time. */
        @Override
        public int hashCode() {
            return Long.hashCode(deadlineNanos);
        }

        @Override
        public boolean equals(@Nullable Object other) {
            return this == other;
        }

        /** The answer is there. Idempotent. */
        void end() {
            if (inFlight.remove(this)) {
                completeIfIdle();
            }
        }
    }

    private final Ticker ticker;
    private final Housekeeper housekeeper;
    private final Set<Request> inFlight = ConcurrentHashMap.newKeySet();
    private volatile @Nullable CompletableFuture<Void> idle;

    InFlightRequests(Ticker ticker, Housekeeper housekeeper) {
        this.ticker = ticker;
        this.housekeeper = housekeeper;
    }

    /** Begins a request; if it has not ended in that time, {@code onStall} runs once, and it counts as ended. */
    Request begin(long timeoutNanos, Runnable onStall) {
        Request request = new Request(ticker.nanos() + timeoutNanos, onStall);
        inFlight.add(request);
        housekeeper.needWithin(timeoutNanos);
        return request;
    }

    /** Begins something that ends by itself. */
    Request begin() {
        Request request = new Request(ticker.nanos(), null);
        inFlight.add(request);
        return request;
    }

    /** Runs what has stalled; returns the nanoseconds until the next one may. */
    long sweep(long nowNanos) {
        return sweep(nowNanos, false);
    }

    /** The client ends: whatever has no answer has stalled, also what had some time left. */
    void stallAll() {
        sweep(ticker.nanos(), true);
    }

    @SuppressWarnings("ModifyCollectionInEnhancedForLoop") // a concurrent set: its iterators allow for removals
    private long sweep(long nowNanos, boolean all) {
        long next = Housekeeper.NEVER;
        for (Request request : inFlight) {
            Runnable onStall = request.onStall;
            if (onStall == null) {
                continue;
            }
            long left = request.deadlineNanos - nowNanos;
            if (left > 0 && !all) {
                next = Math.min(next, left);
            } else if (inFlight.remove(request)) {
                onStall.run();
                completeIfIdle();
            }
        }
        return next;
    }

    boolean isIdle() {
        return inFlight.isEmpty();
    }

    /** Completes when nothing is under way any more; for a client that is closing and begins nothing new by itself. */
    CompletableFuture<Void> whenIdle() {
        CompletableFuture<Void> future = new CompletableFuture<>();
        idle = future;
        completeIfIdle();
        return future;
    }

    private void completeIfIdle() {
        CompletableFuture<Void> waiting = idle;
        if (waiting != null && inFlight.isEmpty()) {
            waiting.complete(null);
        }
    }
}
