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
    private final HoldList lost = new HoldList();

    LossesByThread(StateMutex mutex, DeadOwnerDetector deadOwners) {
        this.mutex = mutex;
        this.deadOwners = deadOwners;
    }

    void add(Hold hold) {
        lost.add(hold);
        deadOwners.watch(this);
    }

    void remove(Hold hold) {
        lost.remove(hold);
        unwatchIfEmpty();
    }

    boolean isEmpty() {
        return lost.isEmpty();
    }

    @Nullable Hold find(@Nullable Thread thread) {
        return lost.ownedBy(thread);
    }

    /** Removes the losses of dead threads. A transition. */
    @Override
    public void removeDeadOwners() {
        mutex.submit(() -> {
            lost.all().stream().filter(Hold::isOrphaned).forEach(lost::remove);
            unwatchIfEmpty();
        });
    }

    private void unwatchIfEmpty() {
        if (lost.isEmpty()) {
            deadOwners.unwatch(this);
        }
    }
}
