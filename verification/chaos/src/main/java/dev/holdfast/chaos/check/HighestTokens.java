package dev.holdfast.chaos.check;

import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The grants with the highest tokens so far. Those that can be held at once are not compared, but for a slot: a store may count places
 * in its line, and of several that get room together, one may learn of it late, or leave its place to another thread.
 */
final class HighestTokens {
    private final Map<Integer, Granted> bySlot = new HashMap<>();
    private @Nullable Granted highest;
    private @Nullable Granted highestAlone;

    void add(Granted grant) {
        highest = higher(highest, grant);
        highestAlone = grant.isAlone() ? higher(highestAlone, grant) : highestAlone;
        bySlot.merge(grant.slot(), grant, HighestTokens::higher);
    }

    private static Granted higher(@Nullable Granted highest, Granted grant) {
        return highest == null || grant.token() > highest.token() ? grant : highest;
    }

    /** Of those that exclude this one whatever their slot. */
    @Nullable Granted excluding(Granted grant) {
        return grant.isAlone() ? highest : highestAlone;
    }

    /** Of those that had its slot; null if it has none. */
    @Nullable Granted inSlotOf(Granted grant) {
        return grant.slot() == 0 ? null : bySlot.get(grant.slot());
    }
}
