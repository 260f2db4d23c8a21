package dev.holdfast.chaos.history;

import dev.holdfast.lock.Demand;

/** Writes a demand as a number, for an event. */
final class Demands {
    private static final int BITS = 32;

    private Demands() {}

    static long number(Demand demand) {
        if (demand instanceof Demand.Permits permits) {
            return (long) permits.permits() << BITS | permits.limit();
        }
        return demand instanceof Demand.Shared ? -1 : 0;
    }

    static Demand demand(long number) {
        if (number > 0) {
            return new Demand.Permits((int) (number >> BITS), (int) number);
        }
        return number < 0 ? Demand.SHARED : Demand.EXCLUSIVE;
    }
}
