package dev.holdfast.lock.spi;

import dev.holdfast.lock.Demand;
import java.util.BitSet;
import java.util.List;

/**
 * The queue of one name on a store that keeps one: all grants and requests, in order of arrival. Decides which of them can be
 * granted. A compatible request becomes a grant by its position alone, except for permits, whose slot has to be taken in the
 * store. Immutable.
 */
public final class DemandLine {

    /**
     * An entry of the queue.
     *
     * @param demand the demand that is held or waited for
     * @param slot the slot that it has if it is granted; 0 for none
     */
    public record Place(Demand demand, int slot) {

        private int permits() {
            return demand instanceof Demand.Permits asked ? asked.permits() : 0;
        }
    }

    private final List<Place> places;
    /** Whether each entry can be granted, by its position and its requested limit. */
    private final BitSet room = new BitSet();
    /** The number of permits ahead of each entry. */
    private final long[] ahead;

    /**
     * Evaluates a queue.
     *
     * @param places the entries in the order of the queue; copied
     */
    public DemandLine(List<Place> places) {
        this.places = List.copyOf(places);
        this.ahead = new long[places.size()];
        long permits = 0;
        boolean alike = true;
        for (int i = 0; i < places.size(); i++) {
            Place place = this.places.get(i);
            ahead[i] = permits;
            permits += place.permits();
            alike = alike && (i == 0 || share(this.places.get(i - 1).demand(), place.demand()));
            room.set(i, alike && (!(place.demand() instanceof Demand.Permits asked) || permits <= asked.limit()));
        }
    }

    private static boolean share(Demand before, Demand next) {
        return before.kind() == next.kind() && !(next instanceof Demand.Exclusive);
    }

    /**
     * Returns whether an entry is a grant.
     *
     * @param index the entry's index
     * @return false if it waits; an entry for permits waits until it has a slot
     */
    public boolean isHeld(int index) {
        Place place = places.get(index);
        return room.get(index) && (!(place.demand() instanceof Demand.Permits) || place.slot() > 0);
    }

    /**
     * Returns whether an entry is compatible with everything ahead of it and with all other grants.
     *
     * @param index the entry's index
     * @return true if it can be granted
     */
    public boolean hasRoom(int index) {
        if (!room.get(index)) {
            return false;
        }
        if (!(places.get(index).demand() instanceof Demand.Permits asked)) {
            return true;
        }
        // Permits of another limit may be held behind it, if the limit was changed and changed back.
        long sum = ahead[index] + asked.permits();
        for (int i = index + 1; i < places.size() && sum <= asked.limit(); i++) {
            sum += isHeld(i) ? places.get(i).permits() : 0;
        }
        return sum <= asked.limit();
    }
}
