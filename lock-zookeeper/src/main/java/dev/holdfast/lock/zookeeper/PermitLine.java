package dev.holdfast.lock.zookeeper;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.spi.DemandLine;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * One name's queue and the {@linkplain PermitBook book} of its permits. Immutable.
 *
 * <p>Permits are held by an entry in the book. Whoever writes one writes it for all that have room, in the order of the
 * queue: so many that get room at once need one write together, and the tokens of a slot, which are positions, rise.
 *
 * <p><b>Why a slot has one holder.</b> The book is read before the queue, and the write is refused unless the book is the one that was
 * read. So all that are held are in both. What is not in the queue any more has ended and does not come back: a later
 * place has another name. Whoever is ahead in the moment of the write was there when the queue was read, because that is later
 * than the creation of the own place; so room that was there is there.
 */
final class PermitLine {
    private final List<SequentialNode> queue;
    private final PermitBook book;
    private final DemandLine demands;

    /**
     * Looks at a queue.
     *
     * @param queue in its order; to be written by, read after the book
     * @param book of the name
     */
    PermitLine(List<SequentialNode> queue, PermitBook book) {
        this.queue = List.copyOf(queue);
        this.book = book;
        this.demands = new DemandLine(queue.stream()
                .map(node -> new DemandLine.Place(node.demand(), book.slotOf(node.name())))
                .toList());
    }

    /** What the line says to one who asks for permits. */
    sealed interface Turn {
        /** It has that slot. */
        record Held(int slot) implements Turn {}

        /** The permits are of another limit. */
        record OtherLimit(int limit) implements Turn {}

        /** There is no limit yet. */
        record NoLimit(boolean room) implements Turn {}

        /** It waits. */
        record NoRoom() implements Turn {}

        /** It holds, with its slot in there, when that is written. */
        record Room(PermitBook next) implements Turn {}
    }

    List<SequentialNode> queue() {
        return queue;
    }

    /** Whose turn it is, of a place for permits. */
    Turn turnOf(int index) {
        SequentialNode place = queue.get(index);
        Demand.Permits asked = (Demand.Permits) place.demand();
        int slot = slotOf(index);
        if (slot > 0) {
            // A name that can come again says nothing of who had it before.
            return SequentialNode.isTrusted(place.sequence())
                    ? new Turn.Held(slot)
                    : new PermitLine(queue, book.without(place.name())).turnOf(index);
        }
        boolean room = demands.hasRoom(index);
        if (book.limit() == 0) {
            return new Turn.NoLimit(room);
        }
        if (book.limit() != asked.limit()) {
            return new Turn.OtherLimit(book.limit());
        }
        return room ? new Turn.Room(next()) : new Turn.NoRoom();
    }

    DemandLine demands() {
        return demands;
    }

    /** The slot that a place has; 0: none. */
    int slotOf(int index) {
        return book.slotOf(queue.get(index).name());
    }

    /**
     * The book as it is to be next: with a slot for everybody who has room, the lowest ones for those ahead, and without those
     * who have left the queue.
     */
    private PermitBook next() {
        Map<String, Integer> slots = new HashMap<>();
        BitSet taken = new BitSet();
        for (SequentialNode node : queue) {
            int slot = book.slotOf(node.name());
            if (slot > 0) {
                slots.put(node.name(), slot);
                taken.set(slot);
            }
        }
        int slot = 0;
        for (int i = 0; i < queue.size(); i++) {
            SequentialNode node = queue.get(i);
            if (!slots.containsKey(node.name()) && node.demand() instanceof Demand.Permits asked) {
                // Also for one with a limit that is no more, or was not yet, so that it finds a lower one than those
                // behind.
                slot = taken.nextClearBit(slot + 1);
                if (asked.limit() == book.limit() && demands.hasRoom(i)) {
                    slots.put(node.name(), slot);
                }
            }
        }
        return book.withSlots(slots);
    }
}
