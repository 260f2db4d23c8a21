package dev.holdfast.lock.memory;

import dev.holdfast.lock.Demand;
import org.jspecify.annotations.Nullable;

/** Adds up what is held and what is ahead in line, and says what there is room for beside it. Not thread-safe. */
final class Room {
    private final int limit;
    private Demand.@Nullable Kind taken;
    private long permits;

    /**
     * Creates room that nothing takes.
     *
     * @param limit how many permits the name has
     */
    Room(int limit) {
        this.limit = limit;
    }

    boolean admits(Demand demand) {
        if (taken == null) {
            return !(demand instanceof Demand.Permits asked) || asked.permits() <= limit;
        }
        if (taken != demand.kind()) {
            return false;
        }
        return demand instanceof Demand.Permits asked
                ? permits + asked.permits() <= limit
                : demand instanceof Demand.Shared;
    }

    /** Takes room, whether or not there is any: whoever is behind must not pass. */
    void take(Demand demand) {
        boolean mixed = taken != null && taken != demand.kind();
        taken = mixed ? Demand.Kind.EXCLUSIVE : demand.kind();
        permits += demand instanceof Demand.Permits asked ? asked.permits() : 0;
    }
}
