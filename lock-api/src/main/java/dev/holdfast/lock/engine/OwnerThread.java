package dev.holdfast.lock.engine;

import java.lang.ref.WeakReference;

/**
 * The thread that asked for a hold, and owns it unless a lease does, without keeping its object alive. Ids and names
 * are never compared.
 */
final class OwnerThread extends WeakReference<Thread> {

    OwnerThread(Thread thread) {
        super(thread);
    }

    boolean is(Thread thread) {
        return refersTo(thread);
    }

    boolean isAlive() {
        Thread thread = get();
        return thread != null && thread.isAlive();
    }
}
