package dev.holdfast.lock.engine.internal.client;

import dev.holdfast.lock.DistributedSemaphore;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockTimeoutException;
import dev.holdfast.lock.Permit;
import dev.holdfast.lock.engine.internal.queue.Waiter;
import dev.holdfast.lock.engine.internal.runtime.OtherLimitException;
import dev.holdfast.lock.spi.support.FailureTranslator;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * A semaphore that uses the stored limit. Each request needs a limit, and the store refuses it with the stored one if that is
 * different: the request is then repeated with the stored limit. The cost of a change is one request per handle.
 */
final class StoredLimitSemaphore extends BlockingSemaphore {
    /** Has the limit that the store returned last. */
    private volatile EngineSemaphore current;

    StoredLimitSemaphore(Acquirer acquirer, EngineSemaphore initial) {
        super(acquirer);
        this.current = initial;
    }

    @Override
    public int limit() {
        return current.limit();
    }

    @Override
    public DistributedSemaphore withStoredLimit() {
        return this;
    }

    @Override
    public int storedLimit() {
        return adopt(current.storedLimit()).limit();
    }

    @Override
    public int availablePermits() {
        return current.availablePermits();
    }

    @Override
    @Nullable Permit obtain(int permits, long timeoutNanos, boolean interruptible) throws InterruptedException {
        long sinceNanos = acquirer.engine().nanos();
        while (true) {
            EngineSemaphore asked = withRoomFor(permits);
            try {
                return asked.obtain(permits, remaining(timeoutNanos, sinceNanos), interruptible);
            } catch (LockConfigurationException e) {
                if (!(e.getCause() instanceof OtherLimitException other)) {
                    throw e;
                }
                adopt(other.stored);
            }
        }
    }

    private long remaining(long timeoutNanos, long sinceNanos) {
        return timeoutNanos == Waiter.FOREVER
                ? timeoutNanos
                : Math.max(0, timeoutNanos - (acquirer.engine().nanos() - sinceNanos));
    }

    /** Asks the store for its limit if the last one is too small, as it may have been raised. */
    private EngineSemaphore withRoomFor(int permits) {
        EngineSemaphore latest = current;
        return permits > latest.limit() ? adopt(latest.storedLimit()) : latest;
    }

    private EngineSemaphore adopt(int stored) {
        EngineSemaphore latest = current;
        if (latest.limit() != stored) {
            latest = new EngineSemaphore(acquirer, stored);
            current = latest;
        }
        return latest;
    }

    @Override
    public CompletableFuture<Permit> acquireAsync(int permits, Duration timeout) {
        long timeoutNanos = acquirer.timeoutNanos(timeout);
        acquirer.entries().requireOpen(name());
        AsyncPermit result = new AsyncPermit(permits, timeoutNanos);
        result.start();
        return result;
    }

    @Override
    public DistributedSemaphore changeLimit(int newLimit) {
        while (true) {
            int stored = current.tryChangeLimit(newLimit);
            adopt(stored);
            if (stored == newLimit) {
                return this;
            }
        }
    }

    @Override
    public String toString() {
        return current + " as stored";
    }

    /** The future of the caller: one acquisition follows the other until the store has accepted the limit. */
    private final class AsyncPermit extends CompletableFuture<Permit> {
        private final int permits;
        private final long timeoutNanos;
        private final long sinceNanos = acquirer.engine().nanos();
        private volatile @Nullable CompletableFuture<Permit> acquisition;

        AsyncPermit(int permits, long timeoutNanos) {
            this.permits = permits;
            this.timeoutNanos = timeoutNanos;
            whenComplete((permit, failure) -> cancelAcquisition());
        }

        @Override
        public <U> CompletableFuture<U> newIncompleteFuture() {
            return new CompletableFuture<>();
        }

        private void cancelAcquisition() {
            CompletableFuture<Permit> pending = acquisition;
            if (pending != null) {
                pending.cancel(false);
            }
        }

        /** On a client thread if the store has to be asked for its limit first, which blocks. */
        void start() {
            if (permits <= limit()) {
                request();
                return;
            }
            try {
                acquirer.engine().runtime().io().execute(this::request);
            } catch (RuntimeException | Error e) {
                completeExceptionally(e);
            }
        }

        private void request() {
            CompletableFuture<Permit> next;
            try {
                long left = remaining(timeoutNanos, sinceNanos);
                next = withRoomFor(permits).acquireAsync(permits, Duration.ofNanos(left));
            } catch (RuntimeException | Error e) {
                completeExceptionally(e);
                return;
            }
            acquisition = next;
            if (isDone()) {
                next.cancel(false);
            }
            next.whenComplete(this::answered);
        }

        private void answered(@Nullable Permit permit, @Nullable Throwable failure) {
            Throwable cause = failure == null ? null : FailureTranslator.unwrap(failure);
            if (permit != null) {
                if (!complete(permit)) {
                    permit.close();
                }
            } else if (cause instanceof OtherLimitException other && !isDone()) {
                adopt(other.stored);
                start();
            } else if (cause instanceof LockTimeoutException) {
                completeExceptionally(acquirer.timedOut(timeoutNanos));
            } else {
                completeExceptionally(Objects.requireNonNull(cause));
            }
        }
    }
}
