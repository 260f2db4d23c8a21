package dev.holdfast.lock;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionStage;

/**
 * Several granted locks as one. It is valid while all of its leases are valid, and lost when one of them is lost. Each lock
 * has its own fencing token: give each guarded resource the token of its lock.
 *
 * <p>Thread-safe: every method may be called from any thread.
 */
@CheckReturnValue
public interface MultiLease extends AutoCloseable {

    /**
     * Which lock was lost, and why. Immutable.
     *
     * @param name the lock's name
     * @param reason why its lease ended
     */
    record Loss(String name, LossReason reason) {}

    /**
     * Returns the names of the locks.
     *
     * @return an immutable list in the order of acquisition, without duplicates
     */
    List<String> names();

    /**
     * Returns the fencing token of one lock.
     *
     * @param name the lock's name
     * @return its token, see {@link Lease#token()}
     * @throws IllegalArgumentException if the name is not among {@link #names()}
     */
    long token(String name);

    /**
     * Returns whether every lease is valid.
     *
     * @return true if so, by this process's clock; may be stale on return
     */
    boolean isValid();

    /**
     * Returns how long all leases stay valid without a further renewal.
     *
     * @return the shortest of their {@linkplain Lease#remaining() remaining} times; zero if not valid, never negative
     */
    Duration remaining();

    /**
     * Ensures that every lease stays valid for at least the given time. Blocks for at most {@link
     * LockClientOptions#requestTimeout()} for each lease that has to be renewed.
     *
     * @param validity the required validity, counted from now
     * @throws LeaseLostException if one of the leases is lost; only then
     * @throws IllegalStateException if this is closed
     * @throws IllegalArgumentException as {@link Lease#ensure}
     * @throws LockUnavailableException if the store did not confirm a renewal now
     */
    void ensure(Duration validity);

    /**
     * Returns a stage that completes when the first lease is lost. It never completes exceptionally, and does not complete if
     * all leases are released normally. Dependent actions must not block.
     *
     * @return the stage; the same at each call
     */
    CompletionStage<Loss> lost();

    /**
     * Releases all locks in the reverse order of acquisition, continuing after a failure. The releases are sent together; this
     * method waits for their answers for at most {@link LockClientOptions#requestTimeout()}, and those that fail are retried in
     * the background. Idempotent.
     *
     * @throws LeaseLostException if one of the leases was lost before this call; all are closed nevertheless, and further
     *     losses are suppressed exceptions of the first
     */
    @Override
    void close();
}
