package dev.holdfast.chaos.history;

/** What an event reports. The order is part of the file format: only append. */
public enum Kind {
    /** The client is connected. */
    START,
    /** An acquisition is about to be asked for; the code has its {@link OpKind}. */
    INVOKE,
    /** The acquisition has returned; the value is the token, the code the slot. */
    ACQUIRED,
    /** The acquisition has ended without a lease; the code has its {@link Outcome}. */
    FAILED,
    /** The lease was valid when it was asked after this instant. */
    CONFIRM,
    /** The lease said that it is not valid, for the first time. */
    INVALID,
    /** The holder saw that the lease is lost. */
    LOST,
    /** The thread is about to acquire again. */
    REENTER_CALL,
    /** It did; the value is the token. */
    REENTER,
    /** The inner hold is about to end. */
    EXIT,
    /** The release is about to be asked for. */
    RELEASE,
    /** The release has returned; the code has its {@link Outcome}. */
    RELEASED,
    /** A renewal failed, or an acquisition; belongs to no operation. */
    SUSPECT,
    /** This process was paused; the value says for how many nanoseconds, from the event's time on. */
    HICCUP,
    /** The client was closed in order; the value says how many of its threads stayed. */
    END,
    /** What the acquisition asks for, if not the lock alone; the value is from {@link Demands}. */
    DEMAND,
    /** The acquisition is a part of one of several locks; the value has its number and patience, see {@link Part}. */
    PART,
    /** After an acquisition of several locks has failed: whether the first of them was free (the code is 1) or not. */
    PROBED,
    /** The leader was interrupted. */
    TOLD,
    /** The leader's {@code onRevoked} was called. */
    REVOKED,
    /** A leader's callback was called while another one ran. */
    TOGETHER,
    /** The candidate does not stand before a number of milliseconds have passed since it was asked for; the value. */
    RESTS,
    /** How old the last renewal of a bystander is, in nanoseconds; the value. Written if it is older than before. */
    AGE
}
