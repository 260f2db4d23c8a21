package dev.holdfast.lock;

import java.time.Duration;
import java.util.concurrent.CompletionStage;

/**
 * A granted lock. Whoever has this object owns the lock: closing it, on any thread, releases the lock. The view from
 * {@link DistributedLock#held()} only shows a thread's hold and refuses to be closed.
 *
 * <p>A lease is bounded in time and renewed in the background, unless {@link LockOptions#renewal()} says otherwise. Its
 * validity is counted on this process's monotonic clock from before the last confirmed request was sent, less a margin
 * for clock drift, so that it ends here before it can end on the server.
 *
 * <p>A lease that is dropped without being closed is released when the garbage collector finds it, with a warning.
 *
 * <p>Thread-safe: every method may be called from any thread.
 */
public interface Lease extends AutoCloseable {

    /**
     * Returns the lock's name.
     *
     * @return the name
     */
    String name();

    /**
     * Returns the fencing token of this grant: strictly greater than that of every earlier grant of the same name, in
     * this or any other process. Let the guarded resource refuse a token lower than
     * one it has seen. See the backend's page for what its store can lose.
     *
     * @return the token, positive; still readable after the lease has ended
     */
    long token();

    /**
     * Tells whether this lease is open and has not ended by this process's clock. A true result may be stale
     * on return: a pause between this call and a write cannot be seen by any lock; the token is what protects the write.
     *
     * @return true if the lease is valid now
     */
    boolean isValid();

    /**
     * Returns how long the lease stays valid without a further renewal.
     *
     * @return remaining validity by this process's monotonic clock; zero if not valid, never negative
     */
    Duration remaining();

    /**
     * Makes sure that the lease stays valid for at least the given time, and renews it now if necessary. Call it before a
     * step whose length is known. Blocks for at most {@link LockClientOptions#requestTimeout()}.
     *
     * @param validity the validity needed from now on
     * @throws LeaseLostException if the lease is lost; only then
     * @throws IllegalStateException if this lease is closed
     * @throws IllegalArgumentException if negative, or longer than the lease, as far as the store grants it, or its
     *     {@link LockOptions#maxHold()} allows
     * @throws LockUnavailableException if the store did not confirm a renewal now; the lease may be valid for a shorter time
     */
    void ensure(Duration validity);

    /**
     * Returns a stage that completes with the reason if the lease is lost. It never completes exceptionally, and not at
     * all if the lease is released in order. It completes on a thread of the client, once; what is attached to it must
     * not block that thread.
     *
     * @return the stage; the same at each call
     */
    CompletionStage<LossReason> lost();

    /**
     * Releases the lock. Idempotent: only the first call does anything. See {@link DistributedLock#unlock()} for what
     * happens if the server cannot be reached.
     *
     * @throws LeaseLostException if the lease was lost before this call; it is closed nevertheless
     * @throws UnsupportedOperationException if this is only a view, from {@link DistributedLock#held()}
     */
    @Override
    void close();
}
