package dev.holdfast.lock.spi;

import org.jspecify.annotations.Nullable;

/** The server's answer to an attempt. */
public sealed interface AcquireResult {

    /**
     * The lock is held by this acquisition.
     *
     * @param grant the grant
     */
    record Granted(Grant grant) implements AcquireResult {}

    /**
     * Somebody else has the lock.
     *
     * @param remainingMillis how long the present holder's lease still runs, in milliseconds; -1 if not known
     * @param ticket this acquisition's place in the store's queue, or null if nothing is left on the server
     */
    record Busy(long remainingMillis, @Nullable Ticket ticket) implements AcquireResult {}

    /**
     * The name's permits are limited to another number than the {@linkplain dev.holdfast.lock.Demand.Permits#limit() one that
     * was asked with}. Nothing of this acquisition is left on the server, not even a place that it had in the queue.
     *
     * @param limit the stored limit, positive
     */
    record OtherLimit(int limit) implements AcquireResult {}
}
