package dev.holdfast.lock.engine;

import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.FailureTranslator;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One removal from the server: the release of a grant, or the abandonment of an acquisition. It is in flight until the server has
 * confirmed it or it is given up, so that a client that closes waits for it.
 */
final class Removal<T> {
    enum Kind {
        RELEASE("release"),
        ABANDON("abandon"),
        /** For an attempt that was refused: if this is refused too, the store has nothing to remove. */
        ABANDON_REFUSED("abandon");

        final String word;

        Kind(String word) {
            this.word = word;
        }
    }

    private static final long FIRST_REFUSED_PAUSE_NANOS = 1_000_000_000L;
    private static final long MAX_REFUSED_PAUSE_NANOS = 30_000_000_000L;

    final Kind kind;
    private final AcquisitionId acquisition;
    private final Callable<CompletionStage<T>> request;
    private final Consumer<@Nullable T> first;
    private final InFlightRequests requests;
    private final long timeoutNanos;
    private final InFlightRequests.Request whole;
    private final AtomicBoolean reported = new AtomicBoolean();
    private final AtomicBoolean done = new AtomicBoolean();
    /** The task of the next client thread, and whether a thread was requested: at most one at a time. */
    private final AtomicReference<@Nullable Runnable> next = new AtomicReference<>();

    private final AtomicBoolean threadAskedFor = new AtomicBoolean();
    /** When retries end, if they ever do; guarded by the {@link Backlog}. */
    long worthUntilNanos;
    /** When it may be retried, or zero for at once; guarded by the {@link Backlog}. */
    long dueNanos;

    private long refusedPauseNanos;

    /**
     * Creates a removal, which is in flight from now on.
     *
     * @param request sends it
     * @param first receives the outcome of the first try; null if it is unknown
     * @param timeoutNanos how long each try may take
     */
    Removal(
            Kind kind,
            AcquisitionId acquisition,
            Callable<CompletionStage<T>> request,
            Consumer<@Nullable T> first,
            InFlightRequests requests,
            long timeoutNanos) {
        this.kind = kind;
        this.acquisition = acquisition;
        this.request = request;
        this.first = first;
        this.requests = requests;
        this.timeoutNanos = timeoutNanos;
        this.whole = requests.begin();
    }

    String name() {
        return acquisition.name();
    }

    /**
     * Sends it once, on this thread if the backend blocks.
     *
     * @param answered called once: with null if the server has confirmed the removal, with the failure otherwise
     */
    void send(Consumer<@Nullable LockException> answered) {
        new Try(answered).run();
    }

    /**
     * Sends it once, on another thread. If other calls are stuck in the backend, that thread may start late: the try then fails
     * in time.
     *
     * @param answered as above
     */
    void send(Executor executor, Consumer<@Nullable LockException> answered) {
        Try begun = new Try(answered);
        next.set(begun);
        if (threadAskedFor.compareAndSet(false, true)) {
            try {
                executor.execute(this::runNext);
            } catch (Throwable e) {
                threadAskedFor.set(false);
                next.set(null);
                begun.fail(Failures.noThread(name(), e));
            }
        }
    }

    /**
     * Runs the latest task. While a call is stuck in the backend, further tries time out without a thread: a removal takes one
     * thread at most.
     */
    private void runNext() {
        do {
            try {
                Runnable task = next.getAndSet(null);
                if (task != null && !isDone()) {
                    task.run();
                }
            } finally {
                threadAskedFor.set(false);
            }
        } while (next.get() != null && !isDone() && threadAskedFor.compareAndSet(false, true));
    }

    /** One request; its time-out counts from its creation. */
    private final class Try implements Runnable {
        private final AtomicBoolean decided = new AtomicBoolean();
        private final Consumer<@Nullable LockException> answered;
        private final InFlightRequests.Request current;

        Try(Consumer<@Nullable LockException> answered) {
            this.answered = answered;
            this.current = requests.begin(timeoutNanos, () -> decide(Failures.stalled(name(), timeoutNanos)));
        }

        @Override
        public void run() {
            FailureTranslator.guard(request).whenComplete((result, error) -> {
                current.end();
                try {
                    if (error == null) {
                        finish(result);
                    }
                } finally {
                    decide(error == null ? null : Failures.of(name(), error));
                }
            });
        }

        void fail(LockException failure) {
            current.end();
            decide(failure);
        }

        private void decide(@Nullable LockException failure) {
            if (decided.compareAndSet(false, true)) {
                if (failure != null) {
                    report(null);
                }
                answered.accept(failure);
            }
        }
    }

    /** Whether a retry may succeed. */
    static boolean mayPass(LockException failure) {
        return failure instanceof LockUnavailableException;
    }

    /** Returns the pause after a refusal: a second at first, doubled each time. */
    long nextRefusedPauseNanos() {
        refusedPauseNanos = refusedPauseNanos == 0
                ? FIRST_REFUSED_PAUSE_NANOS
                : Math.min(MAX_REFUSED_PAUSE_NANOS, refusedPauseNanos * 2);
        return refusedPauseNanos;
    }

    boolean isDone() {
        return done.get();
    }

    /** Stops all retries. */
    void giveUp() {
        finish(null);
    }

    private void finish(@Nullable T result) {
        if (done.compareAndSet(false, true)) {
            report(result);
            whole.end();
        }
    }

    private void report(@Nullable T result) {
        if (reported.compareAndSet(false, true)) {
            first.accept(result);
        }
    }
}
