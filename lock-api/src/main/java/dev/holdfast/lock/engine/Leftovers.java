package dev.holdfast.lock.engine;

import dev.holdfast.lock.LockClosedException;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.spi.Acquisition;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Removes what this client has left on the server: grants that were released and acquisitions that were given up. Each
 * is tried until the server has answered, since some stores keep it for as long as this process lives.
 */
final class Leftovers {
    private static final Logger LOG = LoggerFactory.getLogger(Leftovers.class);
    private static final long FIRST_RETRY_NANOS = 50_000_000;
    private static final long LAST_RETRY_NANOS = 5_000_000_000L;

    private final LockBackend backend;
    private final EngineRuntime runtime;
    private final Requests requests;
    private final long timeoutNanos;
    private final AtomicInteger unreachable = new AtomicInteger();
    private volatile boolean closing;
    private volatile boolean closed;

    Leftovers(LockBackend backend, EngineRuntime runtime, Requests requests, long timeoutNanos) {
        this.backend = backend;
        this.runtime = runtime;
        this.requests = requests;
        this.timeoutNanos = timeoutNanos;
    }

    /**
     * Makes the release of a grant. It counts as under way from now on, so that a client that closes waits for it.
     *
     * @param here whether a blocking backend is called on the thread that runs the result, or on another one
     * @param first told the outcome of the first try: null if it is not known
     * @return to be run
     */
    Runnable release(Grant grant, boolean here, Consumer<@Nullable ReleaseResult> first) {
        Runnable removal = new Removal<>("release", grant.acquisition(), () -> backend.release(grant, millis()), first);
        return here ? removal : () -> elsewhere(removal);
    }

    /** Makes the end of an acquisition that was given up; counts as under way from now on. */
    Runnable abandon(Acquisition acquisition) {
        Runnable removal =
                new Removal<>("abandon", acquisition, () -> backend.abandon(acquisition, millis()), ignored -> {});
        return () -> elsewhere(removal);
    }

    /** The client closes: what cannot be sent any more is counted, and told once. */
    void closing() {
        closing = true;
    }

    /** How many requests could not be sent since then, because the store's connection was closed before. */
    int unreachable() {
        return unreachable.get();
    }

    /** No further retries; what is still there ends with its lease. */
    void close() {
        closed = true;
    }

    private long millis() {
        return Durations.ceilMillis(timeoutNanos);
    }

    private void elsewhere(Runnable removal) {
        Executor executor = backend.info().blocking() ? runtime.io() : Runnable::run;
        executor.execute(removal);
    }

    private final class Removal<T> implements Runnable {
        private final String what;
        private final Acquisition acquisition;
        private final Supplier<CompletionStage<T>> request;
        private final Consumer<@Nullable T> first;
        private final AtomicBoolean told = new AtomicBoolean();
        private final AtomicBoolean done = new AtomicBoolean();
        private final Requests.Request whole = requests.begin();
        private int tries;

        Removal(
                String what,
                Acquisition acquisition,
                Supplier<CompletionStage<T>> request,
                Consumer<@Nullable T> first) {
            this.what = what;
            this.acquisition = acquisition;
            this.request = request;
            this.first = first;
        }

        @Override
        public void run() {
            AtomicBoolean answered = new AtomicBoolean();
            Requests.Request current = requests.begin(timeoutNanos, () -> {
                if (answered.compareAndSet(false, true)) {
                    retry(Failures.stalled(acquisition.name(), timeoutNanos));
                }
            });
            Failures.call(request).whenComplete((result, error) -> {
                current.end();
                if (error == null) {
                    finish(result);
                } else if (answered.compareAndSet(false, true)) {
                    retry(Failures.of(acquisition.name(), error));
                }
            });
        }

        private void finish(@Nullable T result) {
            if (done.compareAndSet(false, true)) {
                tell(result);
                whole.end();
            }
        }

        private void retry(LockException failure) {
            if (done.get()) {
                return;
            }
            tell(null);
            if (closed) {
                finish(null);
                return;
            }
            if (failure instanceof LockClosedException) {
                if (closing) {
                    unreachable.incrementAndGet();
                } else {
                    LOG.warn("{}; what is still there ends with its lease", failure.getMessage());
                }
                finish(null);
                return;
            }
            tries++;
            if (tries == 1) {
                LOG.warn("{}: {} is retried in the background until the store answers", failure.getMessage(), what);
            } else {
                LOG.debug("{}: {} failed {} times", failure.getMessage(), what, tries);
            }
            long delay = Math.min(LAST_RETRY_NANOS, FIRST_RETRY_NANOS << Math.min(tries - 1, 10));
            long jittered = delay / 2 + runtime.random().get().nextLong(delay / 2);
            runtime.timer().after(jittered, () -> elsewhere(this));
        }

        private void tell(@Nullable T result) {
            if (told.compareAndSet(false, true)) {
                first.accept(result);
            }
        }
    }
}
