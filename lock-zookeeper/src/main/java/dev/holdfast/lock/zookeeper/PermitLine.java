package dev.holdfast.lock.zookeeper;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.spi.DemandLine;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * One name's queue and the {@linkplain PermitBook state} of its permits. Immutable.
 *
 * <p>A node holds permits if the state has an entry for it. Each writer adds entries for all nodes that have room, in
 * the order of the queue. So one write is enough when many nodes get room together, and the tokens of a slot, which
 * follow the order of the queue, increase.
 *
 * <p><b>Why a slot has one holder.</b> The state is read before the queue, and the write is refused unless the state is
 * still the one that was read. So every holder is in both. A node that is not in the queue any more has ended and does
 * not come back: later nodes have other names. All nodes ahead at the time of the write were there when the queue was
 * read, because the queue was read after the own node was created. So the room that was computed exists.
 */
final class PermitLine {
    private final List<SequentialNode> queue;
    private final PermitBook permitState;
    private final DemandLine demands;

    /**
     * Evaluates a queue.
     *
     * @param queue sorted; read after the state if the result is used to write
     * @param permitState the stored state of the name
     */
    PermitLine(List<SequentialNode> queue, PermitBook permitState) {
        this.queue = List.copyOf(queue);
        this.permitState = permitState;
        this.demands = new DemandLine(queue.stream()
                .map(node -> new DemandLine.Place(node.demand(), permitState.slotOf(node.name())))
                .toList());
    }

    /** The decision for a node that asks for permits. */
    sealed interface Decision {
        /** It holds permits, in that slot. */
        record Held(int slot) implements Decision {}

        /** The stored limit differs from the requested one. */
        record OtherLimit(int limit) implements Decision {}

        /** No limit is stored yet. */
        record NoLimit(boolean room) implements Decision {}

        /** It has to wait. */
        record NoRoom() implements Decision {}

        /** It holds when this state, which contains its slot, is written. */
        record Room(PermitBook next) implements Decision {}
    }

    List<SequentialNode> queue() {
        return queue;
    }

    /** Decides for the node at that index, which must ask for permits. */
    Decision decisionFor(int index) {
        SequentialNode node = queue.get(index);
        Demand.Permits asked = (Demand.Permits) node.demand();
        int slot = slotOf(index);
        if (slot > 0) {
            // Names can repeat after an overflow, so the entry may belong to an earlier node of this name.
            return SequentialNode.isTrusted(node.sequence())
                    ? new Decision.Held(slot)
                    : new PermitLine(queue, permitState.without(node.name())).decisionFor(index);
        }
        boolean room = demands.hasRoom(index);
        if (permitState.limit() == 0) {
            return new Decision.NoLimit(room);
        }
        if (permitState.limit() != asked.limit()) {
            return new Decision.OtherLimit(permitState.limit());
        }
        return room ? new Decision.Room(next()) : new Decision.NoRoom();
    }

    DemandLine demands() {
        return demands;
    }

    /** The slot of the node at that index; 0 if it has none. */
    int slotOf(int index) {
        return permitState.slotOf(queue.get(index).name());
    }

    /**
     * The next state: an entry for every node that has room, the lowest free slots for the first ones, and no entries
     * for nodes that have left the queue.
     */
    private PermitBook next() {
        Map<String, Integer> slots = new HashMap<>();
        BitSet taken = new BitSet();
        for (SequentialNode node : queue) {
            int slot = permitState.slotOf(node.name());
            if (slot > 0) {
                slots.put(node.name(), slot);
                taken.set(slot);
            }
        }
        int slot = 0;
        for (int i = 0; i < queue.size(); i++) {
            SequentialNode node = queue.get(i);
            if (!slots.containsKey(node.name()) && node.demand() instanceof Demand.Permits asked) {
                // Also reserves a slot for nodes with another limit, so that they get lower slots than the nodes
                // behind them if the limit changes.
                slot = taken.nextClearBit(slot + 1);
                if (asked.limit() == permitState.limit() && demands.hasRoom(i)) {
                    slots.put(node.name(), slot);
                }
            }
        }
        return permitState.withSlots(slots);
    }
}
