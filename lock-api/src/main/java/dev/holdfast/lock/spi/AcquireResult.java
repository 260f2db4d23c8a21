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
     * Another acquisition has the lock.
     *
     * @param remainingMillis how long the current holder's lease still runs, in milliseconds; -1 if unknown
     * @param ticket identifies this acquisition's entry in the store's queue; null if nothing is left on the server
     */
    record Busy(long remainingMillis, @Nullable Ticket ticket) implements AcquireResult {}

    /**
     * The stored limit of the name's permits differs from the {@linkplain dev.holdfast.lock.Demand.Permits#limit() requested
     * one}. Nothing of this acquisition is left on the server, not even an earlier entry in the queue.
     *
     * @param limit the stored limit, positive
     */
    record OtherLimit(int limit) implements AcquireResult {}
}
