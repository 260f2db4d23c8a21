package dev.holdfast.lock.engine.internal.runtime;

import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** The requests without an answer: each one ends within its time-out, and close waits for the last one. */
public final class InFlightRequests {

    /** One request in flight. */
    public final class Request {
        private final long deadlineNanos;
        private final int number;
        private final @Nullable Runnable onStall;

        private Request(long deadlineNanos, @Nullable Runnable onStall) {
            this.deadlineNanos = deadlineNanos;
            this.number = begun++;
            this.onStall = onStall;
        }

        /** Based on time and number rather than the address, so that simulated runs are reproducible. */
        @Override
        public int hashCode() {
            return 31 * Long.hashCode(deadlineNanos) + number;
        }

        @Override
        public boolean equals(@Nullable Object other) {
            return this == other;
        }

        /** Ends the request, as its answer has arrived. Idempotent. */
        public void end() {
            if (inFlight.remove(this)) {
                completeIfIdle();
            }
        }
    }

    private static final long RETRY_NANOS = 100_000_000;

    private final Ticker ticker;
    private final Housekeeper housekeeper;
    private final Set<Request> inFlight = ConcurrentHashMap.newKeySet();
    /** Tells requests of one instant apart. Several threads may count at once: equal numbers only cost time. */
    private int begun;

    private volatile @Nullable CompletableFuture<Void> idle;

    public InFlightRequests(Ticker ticker, Housekeeper housekeeper) {
        this.ticker = ticker;
        this.housekeeper = housekeeper;
    }

    /** Begins a request. If it does not end within the time-out, {@code onStall} runs once, and the request counts as ended. */
    public Request begin(long timeoutNanos, Runnable onStall) {
        Request request = new Request(ticker.nanos() + timeoutNanos, onStall);
        inFlight.add(request);
        housekeeper.needWithin(timeoutNanos);
        return request;
    }

    /** Begins a request without a time-out. */
    public Request begin() {
        Request request = new Request(ticker.nanos(), null);
        inFlight.add(request);
        return request;
    }

    /** Ends the requests whose time-out has passed; returns the nanoseconds until the next time-out. */
    public long sweep(long nowNanos) {
        return sweep(nowNanos, false);
    }

    /** Ends all requests, including those with time left, as the client ends. */
    public void stallAll() {
        sweep(ticker.nanos(), true);
    }

    @SuppressWarnings("ModifyCollectionInEnhancedForLoop") // a concurrent set: its iterators support removals
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
            } else if (inFlight.contains(request)) {
                try {
                    onStall.run();
                } catch (Throwable e) { // no memory: the next sweep tries again
                    next = Math.min(next, RETRY_NANOS);
                    continue;
                }
                request.end();
            }
        }
        return next;
    }

    public boolean isIdle() {
        return inFlight.isEmpty();
    }

    /** Completes when no request is in flight; for a client that is closing and begins no new requests. */
    public CompletableFuture<Void> whenIdle() {
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
