package dev.holdfast.lock.engine.internal.queue;

import dev.holdfast.lock.engine.internal.hold.DeadOwnerDetector;
import dev.holdfast.lock.engine.internal.hold.Hold;
import dev.holdfast.lock.engine.internal.hold.HoldList;
import dev.holdfast.lock.engine.internal.runtime.StateMutex;
import org.jspecify.annotations.Nullable;

/**
 * The holds of one lock that were lost while a thread owned them. Until the thread has ended those holds, every use of the lock
 * reports the loss to it. Holds of dead threads are removed. Guarded by the entry's mutex.
 */
final class LossesByThread implements DeadOwnerDetector.Losses {
    private final StateMutex mutex;
    private final DeadOwnerDetector deadOwners;
    /** Null if there are none: few locks are ever lost, and each has one of these. */
    private @Nullable HoldList lost;

    LossesByThread(StateMutex mutex, DeadOwnerDetector deadOwners) {
        this.mutex = mutex;
        this.deadOwners = deadOwners;
    }

    void add(Hold hold) {
        if (lost == null) {
            lost = new HoldList();
        }
        lost.add(hold);
        deadOwners.watch(this);
    }

    void remove(Hold hold) {
        if (lost != null) {
            lost.remove(hold);
        }
        unwatchIfEmpty();
    }

    boolean isEmpty() {
        return lost == null || lost.isEmpty();
    }

    @Nullable Hold find(@Nullable Thread thread) {
        return lost == null ? null : lost.ownedBy(thread);
    }

    /** Removes the losses of dead threads. A transition. */
    @Override
    public void removeDeadOwners() {
        mutex.submit(() -> {
            HoldList losses = lost;
            if (losses != null) {
                losses.all().stream().filter(Hold::isOrphaned).forEach(losses::remove);
            }
            unwatchIfEmpty();
        });
    }

    private void unwatchIfEmpty() {
        if (isEmpty()) {
            lost = null;
            deadOwners.unwatch(this);
        }
    }
}
