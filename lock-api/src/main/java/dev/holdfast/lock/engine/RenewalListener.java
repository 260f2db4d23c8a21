package dev.holdfast.lock.engine;

import dev.holdfast.lock.LossReason;

/** Is told what becomes of a held grant as its time passes. Each call is a transition, and does nothing for a grant that has ended. */
interface RenewalListener {

    /** Whether the grant is worth renewing; if not, it is left to run out. */
    boolean prepareRenewal(HeldGrant heldGrant);

    /** A renewal that was sent then is confirmed; a fixed lease is confirmed, but not extended. */
    void renewed(HeldGrant heldGrant, RequestTime sent, long leaseMillis, boolean extend);

    /** A renewal failed for the first time; the lease is valid still. */
    void suspected(HeldGrant heldGrant, String detail);

    /** The server said that the grant has ended. */
    void ended(HeldGrant heldGrant, LossReason reason, String detail);

    /** The grant's time may have passed: ends it if so. */
    void expireIfDue(HeldGrant heldGrant);
}
