package dev.holdfast.lock;

import java.time.Duration;
import java.util.concurrent.CompletionStage;

/**
 * One term as leader, from the call of {@code onElected} to the call of {@code onRevoked}. Thread-safe.
 *
 * <p>Send {@link #token()} with every write, so that the resource can refuse late writes of a former leader.
 */
public interface Leadership {

    /**
     * Returns the fencing token: greater than that of every earlier leader of the same election.
     *
     * @return the token, positive; still readable afterwards
     */
    long token();

    /**
     * Returns whether this process still leads. It turns false when this process has to stop, which is before its lease can
     * expire on the server.
     *
     * @return true if so, by this process's clock; may be stale on return
     */
    boolean isValid();

    /**
     * Ensures that the leadership stays valid for at least the given time, and renews its lease now if necessary. Call it
     * before a step of known length.
     *
     * @param validity the required validity, counted from now
     * @throws LeaseLostException if the lease is lost
     * @throws IllegalStateException if the leadership has ended
     * @throws IllegalArgumentException as {@link Lease#ensure}
     * @throws LockUnavailableException if the store did not confirm a renewal now
     */
    void ensure(Duration validity);

    /**
     * Returns a stage that completes with the reason if the leadership ends otherwise than by the leader's own resignation: if the
     * lease is lost, and also if the leader is stopped because the lease cannot be kept, which is before the lease ends. It does
     * not complete if the leader resigns: by {@link Election#yield}, {@link Election#close}, or a callback that fails.
     *
     * @return the stage; dependent actions must not block
     */
    CompletionStage<LossReason> lost();
}
