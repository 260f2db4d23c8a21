package dev.holdfast.lock.etcd.internal.permit;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.spi.DemandLine;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The slots in the keys of a name's permits, in the order of the queue. Immutable.
 *
 * <p>A key is <i>in conflict</i> if it has no slot, or the slot of a key ahead. It is <i>settled</i> if neither it nor
 * any key ahead is in conflict. A key that has room holds its permits if it is settled.
 *
 * <p><b>The rule:</b> a slot is only replaced in a key that is in conflict at the moment of the write. The write checks
 * this by the key's revision and, if it has a slot, by another key with the same slot ({@link Change#because}). Any
 * client may do so: a client that has room writes the slots of all keys in conflict up to its own, so it need not wait
 * for stalled clients.
 *
 * <ol>
 *   <li><b>A settled key stays settled and keeps its slot</b>: the rule forbids replacing it, all keys ahead are
 *       settled too, and keys ahead only leave. New keys come behind.
 *   <li><b>No slot has two holders</b>: of two keys with one slot, the one behind is in conflict.
 *   <li><b>The tokens of a slot rise</b>: when a key becomes a holder, all keys ahead, with lower tokens, are settled
 *       with other slots, and stay so. A key behind holds only when it is settled itself.
 *   <li><b>Every waiter with room proceeds</b>: fewer keys than the limit are ahead of it, so there is a slot for each.
 * </ol>
 */
public final class PermitSlots {
    private final List<DemandLine.Place> places;
    /** For each entry in conflict, the entry ahead with the same slot; the entry itself if it has no slot. */
    private final Map<Integer, Integer> conflicts = new HashMap<>();

    private final int settled;

    /**
     * A slot to be written.
     *
     * @param index the entry, which is in conflict
     * @param slot the new slot
     * @param because the entry ahead with the same slot as it has now; the entry itself if it has none
     */
    record Change(int index, int slot, int because) {}

    /**
     * Analyses a queue.
     *
     * @param places the entries in the order of the queue
     */
    public PermitSlots(List<DemandLine.Place> places) {
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

    /** Whether an entry holds as soon as it has room. */
    boolean isSettled(int index) {
        return index < settled;
    }

    /** The queue with only the slots of settled entries, so that an entry with room and a slot is a holder. */
    public DemandLine line() {
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
     * Returns the changes that settle an entry that has room. All clients compute the same slot for the same entry from
     * the same queue, and leave the slots of entries with room behind it unchanged.
     *
     * @param index the entry
     * @param line the queue that determines which entries have room
     * @return the slots to write, in the order of the queue; empty if the entry is settled, or if there is no slot for
     *     an entry ahead that has another limit and no room
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
            if (because != null && places.get(i).demand() instanceof Demand.Permits wanted) {
                slot = said.nextClearBit(1);
                slot = slot <= wanted.limit() ? slot : ahead.nextClearBit(1);
                if (slot > wanted.limit()) {
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
