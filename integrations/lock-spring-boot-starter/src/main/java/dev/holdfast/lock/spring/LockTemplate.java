package dev.holdfast.lock.spring;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.spring.hold.InTransaction;
import dev.holdfast.lock.spring.hold.LockCall;
import dev.holdfast.lock.spring.hold.LockedCalls;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Runs code while it holds a lock, by the rules of {@link Locked}: calls of one thread re-enter, a call within a transaction keeps
 * the lock until that has completed, the code's exception wins over a loss, a store that cannot be reached always throws.
 *
 * <p>Immutable and thread-safe: the {@code with} methods return another template.
 */
public final class LockTemplate {
    private final LockClient client;
    private final LockedCalls calls;
    private final @Nullable Duration wait;
    private final @Nullable LockOptions options;

    /**
     * Creates a template with the client's own options, which waits for a lock as long as it takes and defers the release of
     * calls within a transaction.
     *
     * @param client whose locks to use; not closed by the template
     */
    public LockTemplate(LockClient client) {
        this(client, new LockedCalls(InTransaction.DEFER), null, null);
    }

    /**
     * Creates a template.
     *
     * @param client whose locks to use; not closed by the template
     * @param calls the rules; not closed by the template
     * @param wait how long to wait for a lock; null for as long as it takes
     */
    public LockTemplate(LockClient client, LockedCalls calls, @Nullable Duration wait) {
        this(client, calls, wait, null);
    }

    private LockTemplate(LockClient client, LockedCalls calls, @Nullable Duration wait, @Nullable LockOptions options) {
        this.client = Objects.requireNonNull(client, "client must not be null");
        this.calls = Objects.requireNonNull(calls, "calls must not be null");
        if (wait != null && wait.isNegative()) {
            throw new IllegalArgumentException("wait must not be negative, got " + wait);
        }
        this.wait = wait;
        this.options = options;
    }

    /**
     * Returns a template that waits for another time.
     *
     * @param wait the longest time to wait for a lock; zero asks once, null waits as long as it takes
     * @return a template
     * @throws IllegalArgumentException if negative
     */
    public LockTemplate withWait(@Nullable Duration wait) {
        return new LockTemplate(client, calls, wait, options);
    }

    /**
     * Returns a template whose locks have other options.
     *
     * @param options the options
     * @return a template
     */
    public LockTemplate withOptions(LockOptions options) {
        return new LockTemplate(client, calls, wait, Objects.requireNonNull(options, "options must not be null"));
    }

    /**
     * Runs code that has a result.
     *
     * @param <T> the result
     * @param <E> what the code throws
     * @param name the lock's name
     * @param callback the code
     * @return its result
     * @throws E what the code throws
     * @throws dev.holdfast.lock.LockTimeoutException if another holder has the lock after the wait
     * @throws dev.holdfast.lock.LeaseLostException if the lease was lost meanwhile
     * @throws dev.holdfast.lock.LockUnavailableException if the store does not answer
     * @throws LockException if interrupted while waiting; the thread's interrupt flag is set again
     * @throws IllegalStateException within a transaction, if calls there are refused
     */
    public <T extends @Nullable Object, E extends Exception> T execute(String name, LockCallback<T, E> callback)
            throws E {
        LockCall call = call(name);
        return this.<T, E>run(call, callback, () -> {
            throw call.busy();
        });
    }

    /**
     * Runs code that has a result, unless another holder has the lock.
     *
     * @param <T> the result
     * @param <E> what the code throws
     * @param name the lock's name
     * @param callback the code
     * @return its result; empty if another holder has the lock after the wait, and the code did not run
     * @throws E what the code throws
     * @throws dev.holdfast.lock.LeaseLostException if the lease was lost meanwhile
     * @throws dev.holdfast.lock.LockUnavailableException if the store does not answer
     * @throws LockException if interrupted while waiting; the thread's interrupt flag is set again
     * @throws IllegalStateException within a transaction, if calls there are refused
     * @throws NullPointerException if the code returns null
     */
    public <T, E extends Exception> Optional<T> tryExecute(String name, LockCallback<T, E> callback) throws E {
        return this.<Optional<T>, E>run(call(name), lease -> Optional.of(callback.run(lease)), () -> Optional.empty());
    }

    /**
     * Runs code that has no result.
     *
     * @param <E> what the code throws
     * @param name the lock's name
     * @param action the code
     * @throws E what the code throws
     * @throws dev.holdfast.lock.LockTimeoutException if another holder has the lock after the wait
     * @throws dev.holdfast.lock.LeaseLostException if the lease was lost meanwhile
     * @throws dev.holdfast.lock.LockUnavailableException if the store does not answer
     * @throws LockException if interrupted while waiting; the thread's interrupt flag is set again
     * @throws IllegalStateException within a transaction, if calls there are refused
     */
    public <E extends Exception> void run(String name, LockAction<E> action) throws E {
        this.<Boolean, E>execute(name, lease -> {
            action.run(lease);
            return true;
        });
    }

    /**
     * Runs code that has no result, unless another holder has the lock.
     *
     * @param <E> what the code throws
     * @param name the lock's name
     * @param action the code
     * @return true if it ran; false if another holder has the lock after the wait
     * @throws E what the code throws
     * @throws dev.holdfast.lock.LeaseLostException if the lease was lost meanwhile
     * @throws dev.holdfast.lock.LockUnavailableException if the store does not answer
     * @throws LockException if interrupted while waiting; the thread's interrupt flag is set again
     * @throws IllegalStateException within a transaction, if calls there are refused
     */
    public <E extends Exception> boolean tryRun(String name, LockAction<E> action) throws E {
        return this.<Boolean, E>tryExecute(name, lease -> {
                    action.run(lease);
                    return true;
                })
                .isPresent();
    }

    /**
     * Begins work that goes on after this method has returned, and holds the lock until it is complete. The calling thread waits
     * for the lock, and the lease belongs to the work.
     *
     * @param <T> the result
     * @param name the lock's name
     * @param work the work
     * @return completes as the work does, after the release; cancelling it neither stops the work nor releases the lock
     * @throws dev.holdfast.lock.LockTimeoutException if another holder has the lock after the wait
     * @throws dev.holdfast.lock.LockUnavailableException if the store does not answer
     * @throws LockException if interrupted while waiting; the thread's interrupt flag is set again
     * @throws IllegalStateException if the thread holds the lock already as a thread, or within a transaction, if calls there are
     *     refused
     */
    @SuppressWarnings("unchecked") // the work's own result
    public <T> CompletableFuture<T> executeAsync(String name, Function<Lease, CompletionStage<T>> work) {
        LockCall call = call(name);
        try {
            return (CompletableFuture<T>) Objects.requireNonNull(
                    calls.stage(call, work::apply, () -> {
                        throw call.busy();
                    }),
                    "the work returned null");
        } catch (Throwable e) {
            throw LockTemplate.<RuntimeException>unchecked(e);
        }
    }

    private LockCall call(String name) {
        DistributedLock lock = options == null ? client.lock(name) : client.lock(name, options);
        return new LockCall(client, lock, wait, "LockTemplate");
    }

    @SuppressWarnings({"unchecked", "NullAway"}) // what the callback returned
    private <T extends @Nullable Object, E extends Exception> T run(
            LockCall call, LockCallback<T, E> callback, Supplier<T> ifBusy) throws E {
        try {
            return (T) calls.call(call, callback::run, ifBusy);
        } catch (Throwable e) {
            throw LockTemplate.<E>unchecked(e);
        }
    }

    /** Lets an exception pass that is declared elsewhere: that of the callback, or an unchecked one. */
    @SuppressWarnings("unchecked")
    private static <E extends Throwable> E unchecked(Throwable e) throws E {
        throw (E) e;
    }
}
