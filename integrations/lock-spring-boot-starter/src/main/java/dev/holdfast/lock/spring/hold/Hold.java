package dev.holdfast.lock.spring.hold;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import java.time.Duration;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;

/** One claim on a lock that its user must release. */
sealed interface Hold {

    /** What the guarded code sees. */
    Lease view();

    /** Whose lock it is. */
    LockClient client();

    /**
     * Gives the claim back; the last one releases the lock.
     *
     * @throws dev.holdfast.lock.LeaseLostException if the lease was lost before
     */
    void release();

    /** Throws if the lease is lost; asks the server only if the lease is suspect. */
    default void requireValid() {
        view().ensure(Duration.ZERO);
    }

    /** Releases the claim; a failure is added to an earlier one as suppressed, or thrown. */
    default void releaseAfter(@Nullable Throwable failure) {
        try {
            release();
        } catch (RuntimeException e) {
            if (failure == null) {
                throw e;
            }
            addSuppressed(failure, e);
        }
    }

    /** Adds an exception to another, unless they are the same; what a future wrapped is shown to its caller without the wrapping. */
    static void addSuppressed(Throwable failure, Throwable later) {
        Throwable cause = failure instanceof CompletionException ? failure.getCause() : null;
        Throwable shown = cause == null ? failure : cause;
        if (shown != later) {
            shown.addSuppressed(later);
        }
    }

    /** A hold of the calling thread, which re-enters by itself. Only that thread gives it back. */
    record OfThread(LockClient client, DistributedLock lock, Lease view, RunningCalls.Running running) implements Hold {
        @Override
        public void release() {
            try {
                lock.unlock();
            } finally {
                running.end();
            }
        }
    }

    /** A share of a lease, which any thread may give back. */
    record OfLease(LockClient client, SharedLease lease) implements Hold {
        /** Takes one more share if the lease is of the lock that a call wants, and still open. */
        boolean retainFor(LockCall call) {
            return client == call.client() && view().name().equals(call.lock().name()) && lease.retain();
        }

        /** Returns this share; gives it back and throws if the lease is lost, so that nothing runs under it. */
        OfLease unlessLost() {
            try {
                lease.requireNotLost();
            } catch (RuntimeException e) {
                releaseAfter(e);
                throw e;
            }
            return this;
        }

        @Override
        public Lease view() {
            return lease.view();
        }

        @Override
        public void release() {
            lease.release();
        }
    }
}
