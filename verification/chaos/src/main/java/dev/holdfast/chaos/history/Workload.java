package dev.holdfast.chaos.history;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.Stream;

/** What the clients of a run do with their locks. Each has its own work in the client and its own checks. */
public enum Workload {
    /** Locks for one holder. */
    MUTEX(client -> client.lock("chaos"), Workload::exclusive),
    /** Read-write locks. */
    RW(client -> client.readWriteLock("chaos"), Workload::exclusive),
    /** Semaphores of {@link #LIMIT} permits. */
    SEMAPHORE(
            client -> client.semaphore("chaos", Workload.LIMIT),
            (client, name, patience) -> client.semaphore(name, Workload.LIMIT).tryAcquire(Workload.LIMIT, patience)),
    /** Elections, with a candidate in each process. */
    ELECTION(client -> client.lock("chaos"), Workload::exclusive),
    /** Several locks at once. */
    MULTI(client -> client.lock("chaos"), Workload::exclusive);

    /** How many permits a semaphore has. */
    public static final int LIMIT = 5;

    private final Consumer<LockClient> probe;
    private final Whole whole;

    Workload(Consumer<LockClient> probe, Whole whole) {
        this.probe = probe;
        this.whole = whole;
    }

    private static Optional<Lease> exclusive(LockClient client, String name, Duration patience)
            throws InterruptedException {
        return client.lock(name).tryAcquire(patience);
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
     * Acquires all there is of a name, of which no other client may have a part then.
     *
     * @param client an open client
     * @param name of the lock
     * @param patience how long to wait
     * @return what was acquired; empty if another client had a part of it all the time
     * @throws InterruptedException if interrupted
     */
    public Optional<? extends Lease> takeWhole(LockClient client, String name, Duration patience)
            throws InterruptedException {
        return whole.take(client, name, patience);
    }

    /** How all there is of a name is acquired. */
    private interface Whole {
        Optional<? extends Lease> take(LockClient client, String name, Duration patience) throws InterruptedException;
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
