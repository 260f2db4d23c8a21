package dev.holdfast.lock.zookeeper.internal.permit;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The stored state of a name's permits: their limit, and the slot of each node that holds some. It is the data of one
 * node, which is written only by compare-and-set of its version. Immutable.
 *
 * <p>An entry counts while its node is in the queue. So nothing is written when permits are returned by a release or by
 * the end of a session; the next write leaves such entries out.
 *
 * @param limit how many permits there are; 0 if nothing is stored yet
 * @param version the version of the node's data
 * @param slots the slots by the name of the node that holds them
 */
public record PermitState(int limit, int version, Map<String, Integer> slots) {

    /** The state of a name without a limit. */
    public static final PermitState NONE = new PermitState(0, 0, Map.of());

    public PermitState {
        slots = Map.copyOf(slots);
    }

    /** A new state without holders. */
    static PermitState ofLimit(int limit) {
        return new PermitState(limit, 0, Map.of());
    }

    /** Parses the format of {@link #bytes}; empty if the data has another format. */
    static Optional<PermitState> parse(byte[] data, int version) {
        String[] lines = new String(data, StandardCharsets.UTF_8).split("\n", -1);
        if (!lines[0].matches("[1-9]\\d{0,6}")) {
            return Optional.empty();
        }
        Map<String, Integer> slots = new HashMap<>();
        for (int i = 1; i < lines.length; i++) {
            String[] entry = lines[i].split(" ", -1);
            if (entry.length != 2 || !entry[1].matches("[1-9]\\d{0,6}")) {
                return Optional.empty();
            }
            slots.put(entry[0], Integer.parseInt(entry[1]));
        }
        return Optional.of(new PermitState(Integer.parseInt(lines[0]), version, slots));
    }

    /** Encodes the limit in the first line, then a node and its slot in each further line. */
    byte[] bytes() {
        List<String> lines = new ArrayList<>();
        lines.add(Integer.toString(limit));
        slots.forEach((nodeName, slot) -> lines.add(nodeName + " " + slot));
        return String.join("\n", lines).getBytes(StandardCharsets.UTF_8);
    }

    /** Whether a node that asks for permits of that limit has none, and may get some later. */
    public boolean isWaiting(String nodeName, int asked) {
        return limit == asked && slotOf(nodeName) == 0;
    }

    /** The slot of a node; 0 if it has none. */
    int slotOf(String nodeName) {
        return slots.getOrDefault(nodeName, 0);
    }

    /** Returns a copy with another limit. */
    PermitState withLimit(int other) {
        return new PermitState(other, version, slots);
    }

    /** Returns a copy with other entries. */
    PermitState withSlots(Map<String, Integer> others) {
        return new PermitState(limit, version, others);
    }

    /** Returns a copy without the entry of a node. */
    PermitState without(String nodeName) {
        Map<String, Integer> rest = new HashMap<>(slots);
        rest.remove(nodeName);
        return withSlots(rest);
    }
}
