package dev.holdfast.lock;

import java.time.Duration;
import java.util.concurrent.CompletionStage;

/**
 * A granted lock. This object owns the lock: closing it, on any thread, releases the lock. A view from {@link
 * DistributedLock#held()} only describes a thread's hold and cannot be closed.
 *
 * <p>A lease is limited in time and renewed in the background, unless {@link LockOptions#renewal()} is off. Its validity is
 * measured on this process's monotonic clock, from the moment before the last confirmed request was sent, minus a margin for
 * clock drift. So it expires here before it can expire on the server.
 *
 * <p>A lease that becomes unreachable without being closed is released once the garbage collector detects it, and a warning
 * is logged. A stage of {@link #lost()} that mentions the lease does not keep it reachable.
 *
 * <p>Thread-safe: every method may be called from any thread.
 */
@CheckReturnValue
public interface Lease extends AutoCloseable {

    /**
     * Returns the lock's name.
     *
     * @return the name
     */
    String name();

    /**
     * Returns the fencing token of this grant: strictly greater than that of every earlier grant of the same name, in this or
     * any other process. Let the guarded resource refuse tokens lower than the highest one it has seen. The backend's
     * documentation page describes failures in which its store can lose the token.
     *
     * @return the token, positive; still readable after the lease has ended
     */
    long token();

    /**
     * Returns whether this lease is open and has not expired by this process's clock. A true result may be stale on return:
     * no lock can detect a pause between this call and a write. Only the token protects the write.
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
     * Ensures that the lease stays valid for at least the given time, and renews it now if necessary. Call it before a step
     * of known length. Blocks for at most {@link LockClientOptions#requestTimeout()}.
     *
     * @param validity the required validity, counted from now
     * @throws LeaseLostException if the lease is lost; only then
     * @throws IllegalStateException if this lease is closed
     * @throws IllegalArgumentException if the validity is negative, longer than the lease that the store grants, or longer
     *     than {@link LockOptions#maxHold()} allows
     * @throws LockUnavailableException if the store did not confirm a renewal now; the lease may be valid for a shorter time
     */
    void ensure(Duration validity);

    /**
     * Returns a stage that completes with the reason if the lease is lost. It never completes exceptionally, and does not
     * complete if the lease is released normally. It completes on a thread of the client; dependent actions must not block
     * that thread.
     *
     * @return the stage; the same at each call
     */
    CompletionStage<LossReason> lost();

    /**
     * Releases the lock. Idempotent: only the first call has an effect. If the server cannot be reached, the release is
     * retried as described in {@link DistributedLock#unlock()}.
     *
     * @throws LeaseLostException if the lease was lost before this call; it is closed nevertheless
     * @throws UnsupportedOperationException if this is a view from {@link DistributedLock#held()}
     */
    @Override
    void close();
}
