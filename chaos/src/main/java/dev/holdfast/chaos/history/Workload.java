package dev.holdfast.chaos.history;

import dev.holdfast.lock.LockClient;
import java.util.List;
import java.util.Locale;
import java.util.function.Consumer;
import java.util.stream.Stream;

/** What the clients of a run do with their locks. Each has its own work in the client and its own checks. */
public enum Workload {
    /** Locks for one holder. */
    MUTEX(client -> client.lock("chaos"));

    private final Consumer<LockClient> probe;

    Workload(Consumer<LockClient> probe) {
        this.probe = probe;
    }

    /**
     * Finds out whether a client's store has what this needs. Sends nothing.
     *
     * @param client an open client
     * @throws dev.holdfast.lock.LockConfigurationException if the store lacks it
     */
    public void require(LockClient client) {
        probe.accept(client);
    }

    /**
     * Returns the word on the command line.
     *
     * @return such as {@code mutex}
     */
    public String word() {
        return name().toLowerCase(Locale.ROOT);
    }

    /**
     * Returns all words.
     *
     * @return in a constant order
     */
    public static List<String> words() {
        return Stream.of(values()).map(Workload::word).toList();
    }

    /**
     * Finds a workload.
     *
     * @param word as {@link #word} says it
     * @return the workload
     * @throws IllegalArgumentException if there is none
     */
    public static Workload of(String word) {
        return Stream.of(values())
                .filter(workload -> workload.word().equals(word))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("no workload '" + word + "'; there are " + words()));
    }
}
