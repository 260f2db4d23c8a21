package dev.holdfast.lock.spi;

import dev.holdfast.lock.Demand;
import java.util.BitSet;
import java.util.List;

/**
 * One name's line on a store that keeps a queue: all that is held or waited for, first come, first served. It says for whom there
 * is room. Whoever has room holds by its position alone, but for permits, whose slot has to be taken in the store. Immutable.
 */
public final class DemandLine {

    /**
     * A place in the line.
     *
     * @param demand what is held or waited for
     * @param slot the slot that it has if there is room for it; 0: none
     */
    public record Place(Demand demand, int slot) {

        private int permits() {
            return demand instanceof Demand.Permits asked ? asked.permits() : 0;
        }
    }

    private final List<Place> places;
    /** By its position and the limit that it was asked with. */
    private final BitSet room = new BitSet();
    /** How many permits are ahead of each. */
    private final long[] ahead;

    /**
     * Looks at a line.
     *
     * @param places in the order of the queue; copied
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
     * Whether a place is held, or had room for what it took.
     *
     * @param index the place
     * @return false if it waits, as a place for permits does until it has a slot
     */
    public boolean isHeld(int index) {
        Place place = places.get(index);
        return room.get(index) && (!(place.demand() instanceof Demand.Permits) || place.slot() > 0);
    }

    /**
     * Whether everything that is ahead of a place or held, the place itself aside, leaves room for it.
     *
     * @param index the place
     * @return true if it may be granted
     */
    public boolean hasRoom(int index) {
        if (!room.get(index)) {
            return false;
        }
        if (!(places.get(index).demand() instanceof Demand.Permits asked)) {
            return true;
        }
        // Behind it somebody may hold permits of another limit, that was changed to and back.
        long sum = ahead[index] + asked.permits();
        for (int i = index + 1; i < places.size() && sum <= asked.limit(); i++) {
            sum += isHeld(i) ? places.get(i).permits() : 0;
        }
        return sum <= asked.limit();
    }
}
