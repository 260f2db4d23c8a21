package dev.holdfast.lock.zookeeper;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What is stored of a name's permits beside the queue: their limit, and which place has which slot. It is the data of one node,
 * which is written by compare-and-set of its version alone. Immutable.
 *
 * <p>An entry counts as long as its place is in the queue. So nothing has to be written when permits come back, by a release or
 * with a session; the next one who writes leaves such entries out.
 *
 * @param limit how many permits there are; 0: there is no book yet
 * @param version of the node's data
 * @param slots by the name of the place's node
 */
record PermitBook(int limit, int version, Map<String, Integer> slots) {

    /** That of a name without a limit. */
    static final PermitBook NONE = new PermitBook(0, 0, Map.of());

    PermitBook {
        slots = Map.copyOf(slots);
    }

    /** A new one. */
    static PermitBook ofLimit(int limit) {
        return new PermitBook(limit, 0, Map.of());
    }

    /** Reads what {@link #bytes} has written; empty if it is something else. */
    static Optional<PermitBook> parse(byte[] data, int version) {
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
        return Optional.of(new PermitBook(Integer.parseInt(lines[0]), version, slots));
    }

    /** The limit in the first line, then a place and its slot in each. */
    byte[] bytes() {
        List<String> lines = new ArrayList<>();
        lines.add(Integer.toString(limit));
        slots.forEach((place, slot) -> lines.add(place + " " + slot));
        return String.join("\n", lines).getBytes(StandardCharsets.UTF_8);
    }

    /** The slot of a place; 0: none. */
    int slotOf(String place) {
        return slots.getOrDefault(place, 0);
    }

    /** The same with another limit. */
    PermitBook withLimit(int other) {
        return new PermitBook(other, version, slots);
    }

    /** The same with other entries. */
    PermitBook withSlots(Map<String, Integer> others) {
        return new PermitBook(limit, version, others);
    }

    /** The same without the entry of a place. */
    PermitBook without(String place) {
        Map<String, Integer> rest = new HashMap<>(slots);
        rest.remove(place);
        return withSlots(rest);
    }
}
