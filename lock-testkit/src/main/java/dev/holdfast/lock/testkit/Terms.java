package dev.holdfast.lock.testkit;

import dev.holdfast.lock.Leadership;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** What an election called, in order. Thread-safe. */
final class Terms {
    private final List<String> kinds = new CopyOnWriteArrayList<>();
    private final List<Leadership> leaderships = new CopyOnWriteArrayList<>();

    void elected(Leadership leadership) {
        leaderships.add(leadership);
        kinds.add("elected");
    }

    void revoked(Leadership leadership) {
        leaderships.add(leadership);
        kinds.add("revoked");
    }

    List<String> kinds() {
        return List.copyOf(kinds);
    }

    List<Long> tokens() {
        return leaderships.stream().map(Leadership::token).toList();
    }

    Leadership first() {
        return leaderships.get(0);
    }

    Leadership last() {
        return leaderships.get(leaderships.size() - 1);
    }
}
