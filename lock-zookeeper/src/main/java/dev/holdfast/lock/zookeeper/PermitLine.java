package dev.holdfast.lock.zookeeper;

import dev.holdfast.lock.spi.DemandLine;
import dev.holdfast.lock.spi.OwnerId;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * All nodes of one name, as a listing has shown them. Immutable.
 *
 * <p>Slots are nodes beside those of the queue, {@code <owner>-s<slot>-<sequence>}, ephemeral like them, created only by one for whom
 * there is room. Of several nodes for one slot the first counts, and none whose owner is not in the queue. The first in line
 * needs no node for slot 1 unless somebody has it, since those behind leave it the lowest.
 */
final class PermitLine {
    private static final Pattern SLOT = Pattern.compile("([0-9a-f]{32})-s(\\d{1,7})-(-?\\d{10})");

    private record Slot(String owner, int slot, int sequence) {}

    private final List<SequentialNode> queue;
    private final DemandLine demands;
    private final int[] slots;

    PermitLine(List<SequentialNode> queue, List<String> children) {
        this.queue = List.copyOf(queue);
        this.slots = slots(queue, children);
        List<DemandLine.Place> places = new ArrayList<>();
        for (int i = 0; i < slots.length; i++) {
            places.add(new DemandLine.Place(queue.get(i).demand(), slots[i]));
        }
        this.demands = new DemandLine(places);
    }

    /** How the name of a slot's node starts. */
    static String slotPrefix(OwnerId owner, int slot) {
        return SequentialNode.prefix(owner) + "s" + slot + "-";
    }

    private static int[] slots(List<SequentialNode> queue, List<String> children) {
        Set<String> owners = new HashSet<>();
        queue.forEach(node -> owners.add(node.owner()));
        List<Slot> taken = new ArrayList<>();
        for (String child : children) {
            Matcher slot = SLOT.matcher(child);
            if (slot.matches() && owners.contains(slot.group(1))) {
                taken.add(
                        new Slot(slot.group(1), Integer.parseInt(slot.group(2)), (int) Long.parseLong(slot.group(3))));
            }
        }
        taken.sort(Comparator.comparingInt(Slot::sequence));
        Map<Integer, String> ownerOf = new HashMap<>();
        Map<String, Integer> slotOf = new HashMap<>();
        for (Slot slot : taken) {
            if (!ownerOf.containsKey(slot.slot()) && !slotOf.containsKey(slot.owner())) {
                ownerOf.put(slot.slot(), slot.owner());
                slotOf.put(slot.owner(), slot.slot());
            }
        }
        int[] slots = new int[queue.size()];
        for (int i = 0; i < slots.length; i++) {
            int first = i == 0 && isPermits(queue.get(0)) && !ownerOf.containsKey(1) ? 1 : 0;
            slots[i] = slotOf.getOrDefault(queue.get(i).owner(), first);
        }
        return slots;
    }

    private static boolean isPermits(SequentialNode node) {
        return node.demand() instanceof dev.holdfast.lock.Demand.Permits;
    }

    List<SequentialNode> queue() {
        return queue;
    }

    DemandLine demands() {
        return demands;
    }

    /** The slot that a place has; 0: none. */
    int slotOf(int index) {
        return slots[index];
    }
}
