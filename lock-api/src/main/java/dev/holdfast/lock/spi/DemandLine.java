package dev.holdfast.lock.spi;

import dev.holdfast.lock.Demand;
import java.util.BitSet;
import java.util.List;

/**
 * One name's line on a store that keeps a queue: all that is held or waited for, first come, first served. It says for whom there
 * is room, and who gets which slot. Whoever has room holds by its position alone, but for permits, whose slot has to be taken
 * in the store. Immutable.
 *
 * <p>Several that have room at once may take their slots in any order. So that the tokens of a slot rise, as positions do, those
 * that are ahead and have not taken theirs yet are left the lower ones.
 */
public final class DemandLine {

    /**
     * A place in the line.
     *
     * @param demand what is held or waited for
     * @param slot the slot that was taken, by a write that may have found no room; 0: none
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

    /**
     * Returns which slot a place that has room gets.
     *
     * @param index the place
     * @return the lowest that nobody has and that those ahead do not need
     */
    public int slotFor(int index) {
        BitSet taken = takenBeside(index);
        int slot = taken.nextClearBit(1);
        for (long others = withoutSlotAhead(index); others > 0; others--) {
            slot = taken.nextClearBit(slot + 1);
        }
        return slot;
    }

    /**
     * Whether a place that has room may keep the slot that it has taken, although a lower one may be free by now.
     *
     * @param index the place
     * @return false if somebody else has it, or somebody ahead needs it
     */
    public boolean mayKeepSlot(int index) {
        Place place = places.get(index);
        return place.slot() >= slotFor(index)
                && !takenBeside(index).get(place.slot())
                && place.demand() instanceof Demand.Permits asked
                && place.slot() <= asked.limit();
    }

    private BitSet takenBeside(int index) {
        BitSet taken = new BitSet();
        for (int i = 0; i < places.size(); i++) {
            if (i != index && isHeld(i)) {
                taken.set(places.get(i).slot());
            }
        }
        return taken;
    }

    /** Also whoever has written a slot that somebody before it has: it is about to take another one. */
    private long withoutSlotAhead(int index) {
        BitSet taken = new BitSet();
        long without = 0;
        for (Place place : places.subList(0, index)) {
            if (place.slot() == 0 || taken.get(place.slot())) {
                without++;
            } else {
                taken.set(place.slot());
            }
        }
        return without;
    }
}
