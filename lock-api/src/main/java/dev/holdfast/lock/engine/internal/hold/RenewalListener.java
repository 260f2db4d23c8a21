package dev.holdfast.lock.engine.internal.hold;

import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.engine.internal.runtime.RequestTime;
import dev.holdfast.lock.engine.internal.runtime.StateMutex;

/**
 * Receives the outcome of renewals and the end of held grants. Each call is a transition, and does nothing for a grant that has
 * ended. Calls of the threads that renew do not wait for other callers of the name; see {@link StateMutex#submit}.
 */
public interface RenewalListener {

    /** Prepares a renewal; returns false if the grant is not to be renewed and runs out. */
    boolean prepareRenewal(HeldGrant heldGrant);

    /** A renewal that was sent at the given time is confirmed; a fixed lease is confirmed but not extended. */
    void renewed(HeldGrant heldGrant, RequestTime sent, long leaseMillis, boolean extend);

    /** A renewal failed for the first time; the lease is still valid. */
    void suspected(HeldGrant heldGrant, String detail);

    /** The server reported the end of the grant. */
    void ended(HeldGrant heldGrant, LossReason reason, String detail);

    /** Ends the grant if its time has passed. */
    void expireIfDue(HeldGrant heldGrant);

    /** The same, without waiting for the transition. */
    void expireSoon(HeldGrant heldGrant);
}
