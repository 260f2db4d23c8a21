package dev.holdfast.lock.redis.internal.redlock;

import dev.holdfast.lock.LockUnavailableException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * What the masters have answered so far to one question. A rule looks at it after each answer, one look at a time, until
 * it has decided.
 *
 * @param <V> an answer
 */
final class QuorumVote<V> {
    private final ReentrantLock lock = new ReentrantLock();
    private final List<@Nullable V> answers = new ArrayList<>();
    private final boolean[] answered;
    private @Nullable Throwable failure;
    private int pending;
    private int failed;
    private boolean late;
    private boolean decided;
    private boolean timed;
    private Runnable onLate = () -> {};

    QuorumVote(int size) {
        pending = size;
        answered = new boolean[size];
        for (int i = 0; i < size; i++) {
            answers.add(null);
        }
    }

    void onLate(Runnable action) {
        onLate = action;
    }

    void add(int index, @Nullable V answer, @Nullable Throwable failed) {
        lock.lock();
        try {
            if (answered[index]) {
                return;
            }
            answered[index] = true;
            pending--;
            if (answer != null) {
                answers.set(index, answer);
            } else {
                this.failed++;
                failure = failed;
            }
        } finally {
            lock.unlock();
        }
    }

    /** Lets the rule look; the decision is completed outside the lock. */
    <T> void decide(Function<QuorumVote<V>, @Nullable T> rule, CompletableFuture<T> decision, String what, int quorum) {
        T result = null;
        Throwable exception = null;
        lock.lock();
        try {
            if (decided) {
                return;
            }
            try {
                result = rule.apply(this);
            } catch (RuntimeException | Error e) { // whoever waits for the decision gets it
                exception = e;
            }
            if (result == null && exception == null && pending == 0) {
                exception = new LockUnavailableException(
                        what + ": no majority of " + quorum + " of " + answered.length
                                + " Redlock masters answered alike; the outcome is unknown, try again",
                        failure);
            }
            decided = result != null || exception != null;
        } finally {
            lock.unlock();
        }
        if (exception != null) {
            decision.completeExceptionally(exception);
        } else if (result != null) {
            decision.complete(result);
        }
    }

    /** Looks again after a time, when {@link #isLate} is true. */
    void lateAfter(long millis) {
        if (!timed) {
            timed = true;
            CompletableFuture.delayedExecutor(millis, TimeUnit.MILLISECONDS, Runnable::run)
                    .execute(() -> {
                        lock.lock();
                        try {
                            late = true;
                        } finally {
                            lock.unlock();
                        }
                        onLate.run();
                    });
        }
    }

    boolean isLate() {
        return late;
    }

    int pending() {
        return pending;
    }

    int failed() {
        return failed;
    }

    @Nullable Throwable failure() {
        return failure;
    }

    @Nullable V answer(int index) {
        return answers.get(index);
    }

    List<V> answers() {
        List<V> present = new ArrayList<>();
        for (V answer : answers) {
            if (answer != null) {
                present.add(answer);
            }
        }
        return present;
    }

    long count(Predicate<? super V> what) {
        return answers().stream().filter(what).count();
    }
}
