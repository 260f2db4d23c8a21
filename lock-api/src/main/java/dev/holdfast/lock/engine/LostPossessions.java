package dev.holdfast.lock.engine;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The possessions of one lock that were lost while a thread had holds on them: until it has ended those holds, every
 * further use of the lock tells it so. What belongs to a thread that has died is forgotten. Guarded by the contender's
 * mutex. Rarely more than one: a thread cannot lose the same lock twice without having noticed.
 */
final class LostPossessions {
    private final List<Possession> lost = new ArrayList<>(0);

    void add(Possession possession) {
        lost.add(possession);
    }

    void remove(Possession possession) {
        lost.remove(possession);
    }

    boolean isEmpty() {
        return lost.isEmpty();
    }

    @Nullable Possession find(@Nullable Thread thread) {
        for (Possession possession : lost) {
            if (possession.isOwnedBy(thread)) {
                return possession;
            }
        }
        return null;
    }

    /** Forgets what nobody can end any more. */
    void forgetTheDead() {
        lost.removeIf(Possession::isOrphaned);
    }
}
