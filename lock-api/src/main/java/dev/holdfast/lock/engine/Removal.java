package dev.holdfast.lock.engine;

import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.Acquisition;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One thing to be removed from the server: a grant that was released, or an acquisition that was given up. It counts as
 * under way until the server has confirmed it or it is given up, so that a client that closes waits for it.
 */
final class Removal<T> {
    enum Kind {
        RELEASE("release"),
        ABANDON("abandon"),
        /** Of an attempt that was refused: if this is refused too, there was nothing to be removed. */
        ABANDON_REFUSED("abandon");

        final String word;

        Kind(String word) {
            this.word = word;
        }
    }

    private static final long FIRST_REFUSED_PAUSE_NANOS = 1_000_000_000L;
    private static final long LONGEST_REFUSED_PAUSE_NANOS = 30_000_000_000L;

    final Kind kind;
    private final Acquisition acquisition;
    private final Supplier<CompletionStage<T>> request;
    private final Consumer<@Nullable T> first;
    private final Requests requests;
    private final long timeoutNanos;
    private final Requests.Request whole;
    private final AtomicBoolean told = new AtomicBoolean();
    private final AtomicBoolean done = new AtomicBoolean();
    /** When it is not worth another try any more, if that ever comes; guarded by the {@link Backlog}. */
    long worthUntilNanos;
    /** When it may be tried again, if not at once; guarded likewise. */
    long dueNanos;

    private long refusedPauseNanos;

    Removal(
            Kind kind,
            Acquisition acquisition,
            Supplier<CompletionStage<T>> request,
            Consumer<@Nullable T> first,
            Requests requests,
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
     * Sends it once, on this thread as far as the backend blocks.
     *
     * @param answered told once: null if the server has confirmed, the failure otherwise
     */
    void send(Consumer<@Nullable LockException> answered) {
        AtomicBoolean decided = new AtomicBoolean();
        Requests.Request current = requests.begin(timeoutNanos, () -> {
            if (decided.compareAndSet(false, true)) {
                failed(Failures.stalled(name(), timeoutNanos), answered);
            }
        });
        Failures.call(request).whenComplete((result, error) -> {
            current.end();
            try {
                if (error == null) {
                    finish(result);
                }
            } finally {
                if (decided.compareAndSet(false, true)) {
                    if (error == null) {
                        answered.accept(null);
                    } else {
                        failed(Failures.of(name(), error), answered);
                    }
                }
            }
        });
    }

    /** It could not be sent or was not confirmed. */
    void failed(LockException failure, Consumer<@Nullable LockException> answered) {
        tell(null);
        answered.accept(failure);
    }

    /** Whether trying again may help. */
    static boolean mayPass(LockException failure) {
        return failure instanceof LockUnavailableException;
    }

    /** How long it is not to be tried again after it was refused: from a second on, doubled each time. */
    long nextRefusedPauseNanos() {
        refusedPauseNanos = refusedPauseNanos == 0
                ? FIRST_REFUSED_PAUSE_NANOS
                : Math.min(LONGEST_REFUSED_PAUSE_NANOS, refusedPauseNanos * 2);
        return refusedPauseNanos;
    }

    boolean isDone() {
        return done.get();
    }

    /** No further tries. */
    void giveUp() {
        finish(null);
    }

    private void finish(@Nullable T result) {
        if (done.compareAndSet(false, true)) {
            tell(result);
            whole.end();
        }
    }

    private void tell(@Nullable T result) {
        if (told.compareAndSet(false, true)) {
            first.accept(result);
        }
    }
}
