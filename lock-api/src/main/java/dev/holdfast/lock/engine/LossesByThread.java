package dev.holdfast.lock.engine;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The holds of one lock that were lost while a thread owned them. Until the thread has ended those holds, every use of the lock
 * reports the loss to it. Holds of dead threads are removed. Guarded by the entry's mutex. Rarely more than one: a thread that
 * lost a lock must notice it before it can acquire the lock again.
 */
final class LossesByThread implements DeadOwners.Losses {
    private final StateMutex mutex;
    private final DeadOwners deadOwners;
    /** A shared empty list while there are no losses. */
    private List<Hold> lost = Collections.emptyList();

    LossesByThread(StateMutex mutex, DeadOwners deadOwners) {
        this.mutex = mutex;
        this.deadOwners = deadOwners;
    }

    void add(Hold hold) {
        if (lost.isEmpty()) {
            lost = new ArrayList<>(1);
        }
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
        for (Hold hold : lost) {
            if (hold.isOwnedBy(thread)) {
                return hold;
            }
        }
        return null;
    }

    /** Removes the losses of dead threads. A transition. */
    @Override
    public void removeDeadOwners() {
        mutex.run(() -> {
            lost.removeIf(Hold::isOrphaned);
            unwatchIfEmpty();
        });
    }

    private void unwatchIfEmpty() {
        if (lost.isEmpty()) {
            deadOwners.unwatch(this);
        }
    }
}
