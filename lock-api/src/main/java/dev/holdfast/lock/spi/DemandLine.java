package dev.holdfast.lock.spi;

import dev.holdfast.lock.Demand;
import java.util.BitSet;
import java.util.List;
import java.util.stream.IntStream;

/**
 * One name's line on a store that keeps a queue: all that is held or waited for, first come, first served. It says for whom there
 * is room, and who gets which slot. Whoever has room holds by its position alone, but for permits, whose slot has to be taken
 * in the store. Immutable.
 *
 * <p><b>Slots.</b> Several that have room at once may take their slots in any order, each by a write that says which. A slot
 * {@linkplain #hasSlot counts} if nobody ahead has it, and if there are lower ones left for all ahead that have none yet. That is
 * told from those ahead alone, and stays true until the place ends, as long as each place writes another slot only while
 * it has none that counts, and only while those are there that it {@linkplain #restsOn rests on}. Then the slot that a place is to
 * take never rises, and those behind have higher ones: the tokens of a slot, which are positions, never fall.
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
    /** By those ahead, the slot that each is to take, and who has one that counts. */
    private final int[] slotFor;

    private final BitSet settled = new BitSet();

    /**
     * Looks at a line.
     *
     * @param places in the order of the queue; copied
     */
    public DemandLine(List<Place> places) {
        this.places = List.copyOf(places);
        this.ahead = new long[places.size()];
        this.slotFor = new int[places.size()];
        long permits = 0;
        boolean alike = true;
        BitSet taken = new BitSet();
        int without = 0;
        for (int i = 0; i < places.size(); i++) {
            Place place = this.places.get(i);
            ahead[i] = permits;
            permits += place.permits();
            alike = alike && (i == 0 || share(this.places.get(i - 1).demand(), place.demand()));
            room.set(i, alike && (!(place.demand() instanceof Demand.Permits asked) || permits <= asked.limit()));
            slotFor[i] = free(taken, without);
            boolean counts = room.get(i)
                    && place.demand() instanceof Demand.Permits asked
                    && place.slot() >= slotFor[i]
                    && place.slot() <= asked.limit()
                    && !taken.get(place.slot());
            settled.set(i, counts);
            without += counts ? 0 : 1;
            if (counts || !room.get(i)) {
                taken.set(place.slot()); // without room: of another limit, that may come back
            }
        }
    }

    /** The lowest that is not taken, but for so many that are left to others. */
    private static int free(BitSet taken, int others) {
        int slot = taken.nextClearBit(1);
        for (int i = 0; i < others; i++) {
            slot = taken.nextClearBit(slot + 1);
        }
        return slot;
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
     * Returns which slot a place that has room and {@linkplain #hasSlot none} is to take.
     *
     * @param index the place
     * @return the lowest that nobody ahead has or needs
     */
    public int slotFor(int index) {
        return slotFor[index];
    }

    /**
     * Whether a place that has room has a slot that counts, although a lower one may be free by now.
     *
     * @param index the place
     * @return false if somebody ahead has it, or needs it
     */
    public boolean hasSlot(int index) {
        return settled.get(index);
    }

    /**
     * Returns who must still be there when a place that has room writes {@link #slotFor} it: if one of them has left meanwhile, that is
     * perhaps too high by then, and somebody behind it may have had it.
     *
     * @param index the place, which has no slot that counts
     * @return places ahead of it
     */
    public List<Integer> restsOn(int index) {
        BitSet wanted = new BitSet();
        for (int i = 0; i <= index; i++) {
            if (!settled.get(i)) {
                wanted.set(places.get(i).slot());
            }
        }
        return IntStream.range(0, index)
                .filter(i -> !settled.get(i)
                        || places.get(i).slot() < slotFor[index]
                        || wanted.get(places.get(i).slot()))
                .boxed()
                .toList();
    }

    /**
     * Returns some because of whom a place has no room, so that it has none as long as they are there.
     *
     * @param index the place
     * @return places ahead of it; empty if it has room as far as those ahead are concerned
     */
    public List<Integer> leaveNoRoomFor(int index) {
        if (!(places.get(index).demand() instanceof Demand.Permits asked)) {
            return List.of();
        }
        long sum = asked.permits();
        for (int i = 0; i < index; i++) {
            if (places.get(i).permits() == 0) {
                return List.of(i);
            }
            sum += places.get(i).permits();
            if (sum > asked.limit()) {
                return IntStream.rangeClosed(0, i).boxed().toList();
            }
        }
        return List.of();
    }
}
