package dev.holdfast.lock.testkit;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.engine.LockEngine;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.testkit.server.FaultProxy;
import java.time.Duration;
import java.util.List;
import java.util.Set;

/**
 * A lock store on this machine, started for a test class, that tests can inspect and disturb. {@link #capabilities()}
 * says what a fixture can do; everything else throws {@link IllegalStateException}.
 *
 * <p>Used by one test at a time; {@link #newBackend} and {@link #newClient} are called from any thread.
 */
public interface LockFixture extends AutoCloseable {

    /**
     * Names the store, its version and its topology, for messages.
     *
     * @return for example {@code redis 7.0.15, standalone}
     */
    String name();

    /**
     * Creates a backend with a connection of its own, as another process would have.
     *
     * @return an open backend, closed by the caller
     */
    LockBackend newBackend();

    /**
     * Makes a client with a connection of its own.
     *
     * @param options the client's options
     * @return an open client, closed by the caller
     */
    default LockClient newClient(LockClientOptions options) {
        return newClient(newBackend(), options);
    }

    /**
     * Makes a client of a backend, which is one of {@link #newBackend} with something around it.
     *
     * @param backend the backend, closed with the client
     * @param options the client's options
     * @return an open client, closed by the caller
     */
    default LockClient newClient(LockBackend backend, LockClientOptions options) {
        return LockEngine.client(backend, options);
    }

    /**
     * Returns a short lease that works well here: not below the backend's floor, and long enough to be renewed in time
     * on a busy machine.
     *
     * @return for example one second
     */
    Duration shortLease();

    /**
     * Returns how many pairs of random names are tried against each other; each costs about four requests.
     *
     * @return the number of pairs, by default 100
     */
    default int namePairs() {
        return 100;
    }

    /**
     * Returns what this fixture can do.
     *
     * @return the capabilities, constant
     */
    Set<Capability> capabilities();

    /**
     * Returns which demands the store has: groups about the others check that they are refused.
     *
     * @return what {@link dev.holdfast.lock.spi.BackendInfo#demands} must say; by default exclusive ones only
     */
    default Set<Demand.Kind> demands() {
        return Set.of(Demand.Kind.EXCLUSIVE);
    }

    /**
     * Ends what is held of a name on the server, as an expiry or an administrator would. Waiters stay.
     *
     * @param name the lock's name
     * @throws IllegalStateException without {@link Capability#EXPIRE}
     * @throws Exception if the store refuses it
     */
    default void expire(String name) throws Exception {
        throw unsupported(Capability.EXPIRE);
    }

    /**
     * Counts what the store keeps for holders and waiters of a name. A counter for tokens that outlives the holders does
     * not count.
     *
     * @param name the lock's name
     * @return the number of entries, 0 if the name is idle
     * @throws IllegalStateException without {@link Capability#ENTRIES}
     * @throws Exception if the store refuses it
     */
    default long entries(String name) throws Exception {
        throw unsupported(Capability.ENTRIES);
    }

    /**
     * Freezes the store: connections stay open, nothing is answered.
     *
     * @throws IllegalStateException without {@link Capability#PAUSE}
     * @throws Exception if that fails
     */
    default void pause() throws Exception {
        throw unsupported(Capability.PAUSE);
    }

    /**
     * Ends {@link #pause}.
     *
     * @throws IllegalStateException without {@link Capability#PAUSE}
     * @throws Exception if that fails
     */
    default void resume() throws Exception {
        throw unsupported(Capability.PAUSE);
    }

    /**
     * Stops the store hard, as {@code kill -9} does, and starts it again with what it had written.
     *
     * @throws IllegalStateException without {@link Capability#RESTART}
     * @throws Exception if that fails
     */
    default void restart() throws Exception {
        throw unsupported(Capability.RESTART);
    }

    /**
     * Cuts all backends made so far and from now on off from the store, which goes on.
     *
     * @throws IllegalStateException without {@link Capability#PARTITION}
     * @throws Exception if that fails
     */
    default void partition() throws Exception {
        throw unsupported(Capability.PARTITION);
    }

    /**
     * Ends {@link #partition}.
     *
     * @throws IllegalStateException without {@link Capability#PARTITION}
     * @throws Exception if that fails
     */
    default void heal() throws Exception {
        throw unsupported(Capability.PARTITION);
    }

    /**
     * Counts the commands, statements or requests that the store has seen from all backends. Requests that only look
     * ({@link #entries}, this one) may count.
     *
     * @return the number so far
     * @throws IllegalStateException without {@link Capability#COUNT}
     * @throws Exception if the store refuses it
     */
    default long commands() throws Exception {
        throw unsupported(Capability.COUNT);
    }

    /**
     * Returns the proxies through which {@link #newBackend()} reaches the store.
     *
     * @return one a server
     * @throws IllegalStateException without {@link Capability#LATE}
     */
    default List<FaultProxy> proxies() {
        throw unsupported(Capability.LATE);
    }

    /**
     * Makes a backend that reaches the store through other proxies, so that its faults are its own.
     *
     * @param others as many as {@link #proxies}, to the same servers in the same order
     * @return an open backend, closed by the caller
     * @throws IllegalStateException without {@link Capability#LATE}
     */
    default LockBackend newBackend(List<FaultProxy> others) {
        throw unsupported(Capability.LATE);
    }

    /**
     * Describes what the store keeps for a name: who holds, who waits, and on what. Without what changes as time passes.
     *
     * @param name the lock's name
     * @return for comparison with an earlier one; by default the number of {@link #entries}
     * @throws IllegalStateException without {@link Capability#ENTRIES}
     * @throws Exception if the store refuses it
     */
    default String content(String name) throws Exception {
        return Long.toString(entries(name));
    }

    /**
     * Returns whether each of the servers that decide has a grant of the lock, and nothing else of it. With fewer of them, a
     * majority is enough for a grant.
     *
     * @param name the lock's name, which is held by one acquisition
     * @return true where one server decides, or all of them agree
     * @throws Exception if the store refuses it
     */
    default boolean isOnAllServers(String name) throws Exception {
        return true;
    }

    /**
     * Makes another server the leader, where there is one, as it may happen at any time. Connections and all that is kept
     * stay. Does nothing on a store without a leader.
     *
     * @throws Exception if that fails
     */
    default void changeLeader() throws Exception {}

    /** Stops the store and removes what it wrote. Idempotent. */
    @Override
    void close();

    private IllegalStateException unsupported(Capability capability) {
        return new IllegalStateException("fixture '" + name() + "' cannot do this: " + capability
                + " is not among its capabilities " + capabilities());
    }
}
