package dev.holdfast.lock.engine;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The holds of one lock that were lost while a thread had holds on them: until it has ended those holds, every
 * further use of the lock tells it so. What belongs to a thread that has died is forgotten. Guarded by the entry's
 * mutex. Rarely more than one: a thread cannot lose the same lock twice without having noticed.
 */
final class LossesByThread {
    private final List<Hold> lost = new ArrayList<>(0);

    void add(Hold hold) {
        lost.add(hold);
    }

    void remove(Hold hold) {
        lost.remove(hold);
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

    /** Forgets what nobody can end any more. */
    void forgetTheDead() {
        lost.removeIf(Hold::isOrphaned);
    }
}
