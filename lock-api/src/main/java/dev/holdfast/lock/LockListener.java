package dev.holdfast.lock;

import java.time.Duration;

/**
 * Receives the events of a client's locks, for metrics and logs.
 *
 * <p>Events are delivered in order on one thread of the client, never on a thread that locks or renews. A slow listener
 * delays other listeners, not locks. If it falls behind by more than 10,000 events, the newest are dropped with a warning and
 * counted ({@link ClientStatus#droppedEvents()}). An exception thrown by a listener is logged and otherwise ignored.
 */
public interface LockListener {

    /**
     * A thread or an asynchronous call began to acquire a lock that it did not hold. Exactly one {@link #acquired} or {@link
     * #gaveUp} follows. A call that is refused before it begins (a closed client, a lost hold that was not unlocked, a thread
     * that would wait for itself) has no event.
     *
     * @param name the lock's name
     */
    default void attempted(String name) {}

    /**
     * A lock was granted. Exactly one {@link #released} or {@link #lost} follows, even if the client is closed: it then
     * reports its held locks as lost, and a release without an answer in time as released.
     *
     * @param name the lock's name
     * @param token the grant's fencing token
     * @param waited the time since the call began
     * @param handedOff true if no round trip was needed: the grant was handed over by another thread of this client, or is
     *     shared with its other readers
     */
    default void acquired(String name, long token, Duration waited, boolean handedOff) {}

    /**
     * A call to acquire ended without the lock.
     *
     * @param name the lock's name
     * @param waited the time since the call began
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
     * A lease was renewed; reported once for all readers of this client that share a grant.
     *
     * @param name the lock's name
     * @param token the grant's fencing token
     */
    default void renewed(String name, long token) {}

    /**
     * A renewal failed, or the store's session may have ended; the renewal is retried while the lease is valid. Reported once
     * for all readers of this client that share a grant.
     *
     * @param name the lock's name
     * @param token the grant's fencing token
     * @param detail what was observed
     */
    default void suspect(String name, long token, String detail) {}

    /**
     * A lease was lost.
     *
     * @param name the lock's name
     * @param token the grant's fencing token
     * @param held the time from its acquisition until the loss was detected, or until its release if the store reported the
     *     loss only then
     * @param reason why
     */
    default void lost(String name, long token, Duration held, LossReason reason) {}
}
