package dev.holdfast.lock.spring.hold;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClosedException;
import dev.holdfast.lock.LockTimeoutException;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs calls while they hold a lock. One request acquires, one releases, and nothing is added to them.
 *
 * <p>The exception of a call wins over what its release reports, which is suppressed into it. Within a transaction the release is
 * left to the transaction's end. Thread-safe; close it with the application, to end its threads.
 */
public final class LockedCalls implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(LockedCalls.class);

    private final InTransaction inTransaction;
    private final CallObserver observer;
    private final CallTransactions transactions = CallTransactions.present();
    private final Acquisitions acquisitions = new Acquisitions(transactions);
    private final ReleaseThreads releases = new ReleaseThreads();
    private final Set<String> warned = ConcurrentHashMap.newKeySet();
    private volatile boolean ending;

    /**
     * Creates it.
     *
     * @param inTransaction what calls within a transaction do
     */
    public LockedCalls(InTransaction inTransaction) {
        this(inTransaction, CallObserver.NONE);
    }

    /**
     * Creates it.
     *
     * @param inTransaction what calls within a transaction do
     * @param observer notified of every call
     */
    public LockedCalls(InTransaction inTransaction, CallObserver observer) {
        this.inTransaction = inTransaction;
        this.observer = observer;
    }

    /**
     * Runs a call while the calling thread holds the lock; the thread re-enters a lock that it holds.
     *
     * @param call what it wants
     * @param body what to run with the lease's view
     * @param ifBusy what to return if another holder has the lock; or throws
     * @return what the body returned, or {@code ifBusy}, also if the client is closed because {@linkplain #end the application
     *     ends}
     * @throws Throwable what the body throws; {@link LockInterruptedException} if interrupted while waiting; what acquiring and
     *     releasing throw; {@link IllegalStateException} within a transaction if that is refused
     */
    public @Nullable Object call(LockCall call, Body body, Supplier<? extends @Nullable Object> ifBusy)
            throws Throwable {
        CallObserver.Observed observed = observer.begin(call);
        Runnable leave = observed.enter();
        try {
            return lockAndRun(call, Observing.body(body, observed), Observing.busy(ifBusy, observed));
        } catch (Throwable failure) {
            observed.failed(failure);
            throw failure;
        } finally {
            leave.run();
            observed.end();
        }
    }

    CallObserver observer() {
        return observer;
    }

    private @Nullable Object lockAndRun(LockCall call, Body body, Supplier<? extends @Nullable Object> ifBusy)
            throws Throwable {
        boolean deferred = isDeferred(call);
        Hold hold;
        try {
            hold = acquisitions.forThread(call);
        } catch (LockClosedException closed) {
            return skipAtTheEnd(ifBusy, closed);
        }
        if (hold == null) {
            return ifBusy.get();
        }
        if (deferred) {
            defer(hold);
        }
        Object result;
        try {
            result = run(hold, body);
        } catch (Throwable failure) {
            if (deferred) {
                addLoss(hold, failure);
            } else {
                hold.releaseAfter(failure);
            }
            throw failure;
        }
        if (deferred) {
            hold.requireValid();
        } else {
            hold.release();
        }
        return result;
    }

    /**
     * Runs a call that returns a stage, and holds the lock until that stage is complete. The calling thread waits for the lock.
     * The lease belongs to the call, not to the thread.
     *
     * @param call what it wants
     * @param body what to run with the lease's view; returns a stage or null
     * @param ifBusy what to return if another holder has the lock; or throws
     * @return a future that completes as the stage does, after the release; null if the body returned null. Completing or
     *     cancelling it neither stops the body nor releases the lock
     * @throws Throwable as {@link #call} does; {@link IllegalStateException} if the calling thread holds the lock already as a
     *     thread
     */
    public @Nullable CompletableFuture<?> stage(
            LockCall call, Body body, Supplier<? extends @Nullable CompletableFuture<?>> ifBusy) throws Throwable {
        CallObserver.Observed observed = observer.begin(call);
        Runnable leave = observed.enter();
        CompletableFuture<?> future = null;
        try {
            future = lockAndBegin(call, Observing.body(body, observed), Observing.busy(ifBusy, observed));
        } catch (Throwable failure) {
            observed.failed(failure);
            throw failure;
        } finally {
            leave.run();
            if (future == null) {
                observed.end();
            }
        }
        if (future != null) {
            Observing.endWith(future, observed);
        }
        return future;
    }

    private @Nullable CompletableFuture<?> lockAndBegin(
            LockCall call, Body body, Supplier<? extends @Nullable CompletableFuture<?>> ifBusy) throws Throwable {
        boolean deferred = isDeferred(call);
        Hold.OfLease hold;
        try {
            hold = acquisitions.forCall(call);
        } catch (LockClosedException closed) {
            return skipAtTheEnd(ifBusy, closed);
        }
        if (hold == null) {
            return ifBusy.get();
        }
        CompletionStage<?> stage;
        try {
            if (deferred && hold.lease().retain()) {
                defer(hold); // a share of its own, which the transaction gives back
            }
            stage = (CompletionStage<?>) run(hold, body);
        } catch (Throwable failure) {
            hold.releaseAfter(failure);
            throw failure;
        }
        if (stage == null) {
            hold.release();
            return null;
        }
        return releases.releaseAfter(stage, hold);
    }

    /** A caller that accepts a busy lock also accepts a closed client; any other caller gets the exception. */
    private <T extends @Nullable Object> T skipAtTheEnd(Supplier<? extends T> ifBusy, LockClosedException closed) {
        if (!ending) {
            throw closed;
        }
        try {
            return ifBusy.get();
        } catch (LockTimeoutException busy) {
            throw closed;
        }
    }

    /**
     * Returns whether the release of a call has to wait for a transaction.
     *
     * @throws IllegalStateException if calls within transactions are refused
     */
    private boolean isDeferred(LockCall call) {
        if (!transactions.isActive()) {
            return false;
        }
        refuseOrWarn(call);
        return true;
    }

    /** To be called for a call within a transaction. */
    void refuseOrWarn(LockCall call) {
        if (inTransaction == InTransaction.FAIL) {
            throw new IllegalStateException(call + ": a transaction is active that began before; "
                    + "lock outside of the transaction, or set holdfast.annotation.in-transaction=defer");
        }
        if (inTransaction == InTransaction.WARN && warned.add(call.caller())) {
            LOG.warn(
                    "{} is called within a transaction; its lock is kept until the transaction ends, but what was read before may be stale",
                    call.caller());
        }
    }

    private void defer(Hold hold) {
        try {
            transactions.defer(hold);
        } catch (RuntimeException e) {
            hold.releaseAfter(e);
            throw e;
        }
    }

    private static @Nullable Object run(Hold hold, Body body) throws Throwable {
        CurrentHolds entered = CurrentHolds.enter(hold);
        try {
            return body.run(hold.view());
        } finally {
            entered.leave();
        }
    }

    private static void addLoss(Hold hold, Throwable failure) {
        try {
            hold.requireValid();
        } catch (RuntimeException e) {
            Hold.addSuppressed(failure, e);
        }
    }

    ReleaseThreads releases() {
        return releases;
    }

    /**
     * The application ends, and closes its clients next. Spring's scheduler starts jobs that are due until it is destroyed, which is
     * later; one that is skipped if its lock is busy is skipped then as well, instead of failing.
     */
    public void end() {
        ending = true;
    }

    boolean isEnding() {
        return ending;
    }

    /** Ends the threads that release the locks of futures and publishers, after the pending releases. */
    @Override
    public void close() {
        releases.close();
    }

    /** What runs with a lease. */
    @FunctionalInterface
    public interface Body {

        /**
         * Runs.
         *
         * @param lease a view of the lease
         * @return the result
         * @throws Throwable as it likes
         */
        @Nullable Object run(Lease lease) throws Throwable;
    }

    /** Tells an observer what becomes of a call. */
    private static final class Observing {
        private Observing() {}

        static Body body(Body body, CallObserver.Observed observed) {
            return lease -> {
                observed.acquired(lease.token());
                return body.run(lease);
            };
        }

        static <T extends @Nullable Object> Supplier<T> busy(
                Supplier<? extends T> ifBusy, CallObserver.Observed observed) {
            return () -> {
                observed.busy();
                return ifBusy.get();
            };
        }

        static void endWith(CompletableFuture<?> future, CallObserver.Observed observed) {
            future.whenComplete((result, failure) -> {
                if (failure != null) {
                    observed.failed(failure);
                }
                observed.end();
            });
        }
    }
}
