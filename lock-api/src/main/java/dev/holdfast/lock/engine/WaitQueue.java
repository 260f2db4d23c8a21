package dev.holdfast.lock.engine;

import org.jspecify.annotations.Nullable;

/** The local FIFO queue of a {@link LockEntry}; any waiter leaves in constant time. Guarded by the entry's mutex. */
final class WaitQueue {
    private @Nullable Waiter head;
    private @Nullable Waiter tail;

    @Nullable Waiter head() {
        return head;
    }

    boolean isEmpty() {
        return head == null;
    }

    void add(Waiter waiter) {
        waiter.queued = true;
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
        waiter.before = null;
        waiter.after = null;
        return true;
    }
}
