package dev.holdfast.lock.engine;

import dev.holdfast.lock.LockException;

/**
 * The operations of a lock entry that its {@link PendingAcquisition}, {@link HeldLock} and {@link LocalHolds} call, within
 * transitions.
 */
interface EntryCallbacks {

    /** Starts an acquisition if there is a waiter and the lock is neither held nor being acquired. */
    void startNext();

    /** Reports that the acquisition was granted or given up. */
    void pendingEnded();

    /**
     * Handles a waiter whose thread is stuck in its attempt, so that the waiters behind it do not wait for that thread. A waiter
     * that asked once fails; any other leaves the queue until its thread returns.
     */
    void skipStuckWaiter(Waiter waiter, Runnable attempt, LockException failure);
}
