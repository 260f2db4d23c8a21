package dev.holdfast.lock.engine;

import dev.holdfast.lock.LockException;

/** What a {@link PendingAcquisition}, a {@link HeldLock} and {@link LocalHolds} need of their lock entry, within transitions. */
interface EntryCallbacks {

    /** Starts an acquisition if there is a waiter and nothing else. */
    void startNext();

    /** The acquisition is granted or given up. */
    void pendingEnded();

    /**
     * A waiter's own thread does not return from its attempt. It cannot be told before it does, but nobody is to wait
     * behind it: if it asked once, it has failed; otherwise it leaves the queue until it comes back.
     */
    void skipStuckWaiter(Waiter waiter, Runnable attempt, LockException failure);
}
