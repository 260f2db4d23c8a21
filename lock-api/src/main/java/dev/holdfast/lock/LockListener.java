package dev.holdfast.lock;

import java.time.Duration;

/**
 * Receives the events of a client's locks, for metrics and logs.
 *
 * <p>Calls come in order on one thread of the client, never on a thread that locks or renews: a slow listener delays
 * other listeners, not locks, and if it falls behind by more than 10,000 events the newest are dropped with a warning and
 * counted ({@link ClientStatus#droppedEvents()}).
 * An exception thrown by a listener is logged and otherwise ignored.
 */
public interface LockListener {

    /**
     * A thread or an async call began to acquire a lock that it did not hold. It ends with exactly one
     * {@link #acquired} or {@link #gaveUp}. A call that is refused before it begins (a closed client, a lost hold that was
     * not unlocked, a thread that would wait for itself) has no event.
     *
     * @param name the lock's name
     */
    default void attempted(String name) {}

    /**
     * A lock was granted. It ends with exactly one {@link #released} or {@link #lost}, however the client ends: one that is
     * closed reports what it holds as lost, and a release that the store does not answer in time as released.
     *
     * @param name the lock's name
     * @param token the grant's fencing token
     * @param waited the time since the attempt began
     * @param handedOff true if it came from another thread of this client, or is shared with other readers of it, without a
     *     round trip
     */
    default void acquired(String name, long token, Duration waited, boolean handedOff) {}

    /**
     * An attempt ended without the lock.
     *
     * @param name the lock's name
     * @param waited the time since the attempt began
     * @param outcome why
     */
    default void gaveUp(String name, Duration waited, AttemptOutcome outcome) {}

    /**
     * A lock was released by its holder.
     *
     * @param name the lock's name
     * @param token the grant's fencing token
     * @param held the time since it was acquired
     */
    default void released(String name, long token, Duration held) {}

    /**
     * A lease was renewed; told once for all readers of this client who share a grant.
     *
     * @param name the lock's name
     * @param token the grant's fencing token
     */
    default void renewed(String name, long token) {}

    /**
     * A renewal failed, or the store's session is in doubt; the lease is retried while it is valid. Told once for all readers of
     * this client who share a grant.
     *
     * @param name the lock's name
     * @param token the grant's fencing token
     * @param detail what was seen
     */
    default void suspect(String name, long token, String detail) {}

    /**
     * A lease was lost.
     *
     * @param name the lock's name
     * @param token the grant's fencing token
     * @param held the time from its acquisition until the loss was noticed, or until it was released if the store said only
     *     then that it was lost
     * @param reason why
     */
    default void lost(String name, long token, Duration held, LossReason reason) {}
}
