package dev.holdfast.lock.etcd;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.spi.DemandLine;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The slots that the keys of a name's permits say, in the order of the line. Immutable.
 *
 * <p>A key is <i>in conflict</i> if it says no slot, or one that a key ahead of it says; it is <i>settled</i> if neither it nor
 * any key ahead of it is in conflict. Who has room holds if its key is settled.
 *
 * <p><b>The rule</b> is that a slot is written over only in a key that is in conflict in the moment of the write. That moment
 * is told by its revision and, if it says a slot, by another key's saying the same ({@link Change#because}). Anybody may do it:
 * who has room writes the slots of all in conflict up to its own key, so that it need not wait for those who stand still.
 *
 * <ol>
 *   <li><b>Who is settled stays so, with its slot</b>: the rule keeps everybody off, those ahead of it are settled too, and
 *       besides they can only leave. New keys come behind.
 *   <li><b>No slot has two holders</b>: of two keys with one slot, the one behind is in conflict.
 *   <li><b>The tokens of a slot rise</b>: when somebody becomes a holder, all who are ahead, and have lower tokens, are settled
 *       with other slots, and stay so. Of whomever is behind, nobody holds before it is settled itself.
 *   <li><b>Nobody waits for good</b>: those ahead of one who has room are fewer than the limit, so there is a slot for each.
 * </ol>
 */
final class PermitSlots {
    private final List<DemandLine.Place> places;
    /** For each place in conflict the one ahead of it that says the same slot; itself if it says none. */
    private final Map<Integer, Integer> conflicts = new HashMap<>();

    private final int settled;

    /**
     * A slot to be written.
     *
     * @param index the place, which is in conflict
     * @param slot what it is to say
     * @param because the place ahead that says the same as it does now; itself if it says none
     */
    record Change(int index, int slot, int because) {}

    /**
     * Looks at a line.
     *
     * @param places in the order of the queue, with what their keys say
     */
    PermitSlots(List<DemandLine.Place> places) {
        this.places = List.copyOf(places);
        Map<Integer, Integer> firstWith = new HashMap<>();
        int first = places.size();
        for (int i = 0; i < places.size(); i++) {
            if (isPermits(i)) {
                int slot = slot(i);
                Integer same = slot == 0 ? Integer.valueOf(i) : firstWith.putIfAbsent(slot, i);
                if (same != null) {
                    conflicts.put(i, same);
                    first = Math.min(first, i);
                }
            }
        }
        this.settled = first;
    }

    private boolean isPermits(int index) {
        return places.get(index).demand() instanceof Demand.Permits;
    }

    private int slot(int index) {
        return places.get(index).slot();
    }

    /** Whether a place holds as soon as it has room. */
    boolean isSettled(int index) {
        return index < settled;
    }

    /** The line with the slots of those who are settled, and none of the others': so who has room and a slot holds. */
    DemandLine line() {
        List<DemandLine.Place> valid = new ArrayList<>();
        for (int i = 0; i < places.size(); i++) {
            valid.add(
                    isSettled(i)
                            ? places.get(i)
                            : new DemandLine.Place(places.get(i).demand(), 0));
        }
        return new DemandLine(valid);
    }

    /**
     * Returns what settles a place that has room. All who look at the same line give the same place the same slot, and spare
     * those behind who have room as well.
     *
     * @param index the place
     * @param line which tells who has room
     * @return the slots to be written, in the order of the queue; empty if it is settled, or if there is no slot for one ahead who
     *     asked with another limit and has no room
     */
    List<Change> changesFor(int index, DemandLine line) {
        BitSet ahead = new BitSet();
        BitSet said = new BitSet();
        for (int i = 0; i < places.size(); i++) {
            if (isPermits(i) && !conflicts.containsKey(i) && (i <= index || line.hasRoom(i))) {
                said.set(slot(i));
            }
        }
        List<Change> changes = new ArrayList<>();
        for (int i = 0; i <= index; i++) {
            int slot = slot(i);
            Integer because = conflicts.get(i);
            if (because != null && places.get(i).demand() instanceof Demand.Permits asked) {
                slot = said.nextClearBit(1);
                slot = slot <= asked.limit() ? slot : ahead.nextClearBit(1);
                if (slot > asked.limit()) {
                    return List.of();
                }
                changes.add(new Change(i, slot, because));
            }
            ahead.set(slot);
            said.set(slot);
        }
        return changes;
    }
}
