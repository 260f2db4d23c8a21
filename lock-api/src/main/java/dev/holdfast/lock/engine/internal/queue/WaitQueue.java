package dev.holdfast.lock.engine.internal.queue;

import dev.holdfast.lock.LockException;
import dev.holdfast.lock.engine.internal.runtime.StateMutex;
import org.jspecify.annotations.Nullable;

/**
 * The local FIFO queue of a {@link LockEntry}, which also notifies its waiters of their outcome; any waiter leaves in constant
 * time. Guarded by the entry's mutex.
 */
final class WaitQueue {
    private final String name;
    private final EngineContext engine;
    private final StateMutex mutex;
    private @Nullable Waiter head;
    private @Nullable Waiter tail;
    /** The number of waiters that the next answer decides: most queues have none, however long they are. */
    private int takersOfNextAnswer;

    WaitQueue(String name, EngineContext engine, StateMutex mutex) {
        this.name = name;
        this.engine = engine;
        this.mutex = mutex;
    }

    @Nullable Waiter head() {
        return head;
    }

    boolean isEmpty() {
        return head == null;
    }

    void add(Waiter waiter) {
        waiter.queued = true;
        takersOfNextAnswer += waiter.takesNextAnswer() ? 1 : 0;
        waiter.before = tail;
        if (tail == null) {
            head = waiter;
        } else {
            tail.after = waiter;
        }
        tail = waiter;
    }

    boolean remove(Waiter waiter) {
        if (!waiter.queued) {
            return false;
        }
        Waiter before = waiter.before;
        Waiter after = waiter.after;
        if (before == null) {
            head = after;
        } else {
            before.after = after;
        }
        if (after == null) {
            tail = before;
        } else {
            after.before = before;
        }
        waiter.queued = false;
        takersOfNextAnswer -= waiter.takesNextAnswer() ? 1 : 0;
        waiter.before = null;
        waiter.after = null;
        return true;
    }

    /** Lets a waiter whose time has passed wait for the pending first answer, until the given time since it began to wait. */
    void awaitNextAnswer(Waiter waiter, long totalNanos) {
        boolean taking = waiter.takesNextAnswer();
        waiter.awaitNextAnswer(totalNanos);
        if (waiter.queued && !taking && waiter.takesNextAnswer()) {
            takersOfNextAnswer++;
        }
    }

    /** Decides a waiter, which leaves the queue, and notifies it. Without memory for that, nothing has changed. */
    void decide(Waiter waiter, Waiter.State state) {
        if (waiter.thread() != Thread.currentThread()) {
            mutex.afterUnlock(waiter::wakeUp);
        }
        remove(waiter);
        waiter.state = state;
        if (waiter.announced && state != Waiter.State.GRANTED && engine.events().hasListeners()) {
            engine.holdEvents().gaveUp(name, engine.nanos() - waiter.sinceNanos, waiter.outcome());
        }
    }

    void fail(Waiter waiter, LockException failure) {
        waiter.failure = failure;
        decide(waiter, Waiter.State.FAILED);
    }

    /** Ends the waiters that do not wait for another answer as busy. */
    void finishBusy() {
        for (Waiter waiter = head; waiter != null && takersOfNextAnswer > 0; ) {
            Waiter next = waiter.after;
            if (waiter.takesNextAnswer()) {
                decide(waiter, Waiter.State.BUSY);
            }
            waiter = next;
        }
    }

    /**
     * Fails the waiters that do not wait for a retry.
     *
     * @param mayPass whether a retry may succeed; if not, the first waiter fails as well
     * @param failingNanos for how long there have been only failures
     */
    void finishFailed(LockException failure, boolean mayPass, long failingNanos) {
        Waiter first = head;
        for (Waiter waiter = first; waiter != null; ) {
            Waiter next = waiter.after;
            if (waiter == first && !mayPass || givesUp(waiter, failingNanos)) {
                fail(waiter, failure);
            }
            waiter = next;
        }
    }

    private boolean givesUp(Waiter waiter, long failingNanos) {
        long limitNanos = engine.unavailableTimeoutNanos();
        long waitedNanos = engine.nanos() - waiter.sinceNanos;
        return waiter.takesNextAnswer() || waiter.waitsForever() && Math.min(failingNanos, waitedNanos) >= limitNanos;
    }
}
