package dev.holdfast.lock;

import java.time.Duration;
import java.util.concurrent.CompletionStage;

/**
 * A time as leader: from an election's {@code onElected} to its {@code onRevoked}. Thread-safe.
 *
 * <p>Give {@link #token()} to whatever the leader writes to: it refuses what a deposed leader sends late.
 */
public interface Leadership {

    /**
     * Returns the fencing token: greater than that of every earlier leader of the same election.
     *
     * @return the token, positive; still readable afterwards
     */
    long token();

    /**
     * Tells whether this is still the leadership that counts. False from the moment at which this process is to stop, which
     * is before its lease can end on the server.
     *
     * @return true if so by this process's clock; may be stale on return
     */
    boolean isValid();

    /**
     * Makes sure that the leadership stays valid for at least the given time, and renews its lease now if necessary. Call it
     * before a step whose length is known.
     *
     * @param validity the validity needed from now on
     * @throws LeaseLostException if the lease is lost
     * @throws IllegalStateException if the leadership has ended
     * @throws IllegalArgumentException as {@link Lease#ensure}
     * @throws LockUnavailableException if the store did not confirm a renewal now
     */
    void ensure(Duration validity);

    /**
     * Returns a stage that completes with the reason if the lease is lost; not if the leader resigns.
     *
     * @return the stage; what is attached to it must not block
     */
    CompletionStage<LossReason> lost();
}
