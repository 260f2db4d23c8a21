package dev.holdfast.lock.engine.internal.hold;

import java.lang.ref.WeakReference;

/**
 * A weak reference to the thread that requested a hold, which owns the hold unless a lease does. Threads are compared by
 * identity, never by id or name.
 */
final class OwnerThread extends WeakReference<Thread> {

    /** The thread's identity hash code. */
    final int hash;

    OwnerThread(Thread thread) {
        super(thread);
        this.hash = System.identityHashCode(thread);
    }

    boolean is(Thread thread) {
        return refersTo(thread);
    }

    boolean isAlive() {
        Thread thread = get();
        return thread != null && thread.isAlive();
    }
}
