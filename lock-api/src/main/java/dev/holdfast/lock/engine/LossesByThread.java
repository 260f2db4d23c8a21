package dev.holdfast.lock.engine;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The holds of one lock that were lost while a thread had holds on them: until it has ended those holds, every
 * further use of the lock tells it so. What belongs to a thread that has died is forgotten. Guarded by the entry's
 * mutex. Rarely more than one: a thread cannot lose the same lock twice without having noticed.
 */
final class LossesByThread implements DeadOwners.Losses {
    private final StateMutex mutex;
    private final DeadOwners deadOwners;
    /** No list of its own while there is nothing to tell. */
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

    /** A transition: nobody is left to be told of what a dead thread has lost. */
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
