package dev.holdfast.lock.memory;

import dev.holdfast.lock.Demand;
import org.jspecify.annotations.Nullable;

/** Adds up the demands of the holders and of the waiters ahead, and checks whether another demand fits. Not thread-safe. */
final class Room {
    private final int limit;
    private Demand.@Nullable Kind taken;
    private long permits;

    /**
     * Creates unused capacity.
     *
     * @param limit the number of the name's permits
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

    /** Takes capacity, even more than there is, so that later waiters do not pass. */
    void take(Demand demand) {
        boolean mixed = taken != null && taken != demand.kind();
        taken = mixed ? Demand.Kind.EXCLUSIVE : demand.kind();
        permits += demand instanceof Demand.Permits asked ? asked.permits() : 0;
    }
}
