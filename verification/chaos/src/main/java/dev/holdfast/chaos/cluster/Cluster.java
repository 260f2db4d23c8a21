package dev.holdfast.chaos.cluster;

import dev.holdfast.lock.testkit.server.network.ServerNetwork;
import java.io.IOException;
import java.util.List;
import java.util.Optional;

/** The servers of a run. Used by the controller only. */
public interface Cluster extends AutoCloseable {

    /**
     * Says what it is.
     *
     * @return product, version and size
     */
    String description();

    /**
     * Returns the servers that clients talk to.
     *
     * @return the nodes, in a constant order
     */
    List<Node> nodes();

    /**
     * Writes the address for a client process.
     *
     * @param ports of the client's proxies, one a node and in their order
     * @return for {@link dev.holdfast.chaos.client.Stores}
     */
    String store(List<Integer> ports);

    /**
     * Finds who leads.
     *
     * @return the index of the leader or master; of any node if there is none
     */
    default int leader() {
        return 0;
    }

    /**
     * Has another node lead, if this store can do that while all nodes work; tries once.
     *
     * @throws InterruptedException if interrupted
     */
    default void changeLeader() throws InterruptedException {}

    /**
     * The network that the nodes are on, one a machine and in their order.
     *
     * @return empty if they cannot be cut off from each other
     */
    default Optional<ServerNetwork> network() {
        return Optional.empty();
    }

    /**
     * Tells whether nodes may be killed.
     *
     * @return false if what they hold would be gone
     */
    default boolean killable() {
        return true;
    }

    /**
     * Tells whether the store promises that claimed windows are disjoint even under these faults.
     *
     * @return false if losses are counted and published instead
     */
    default boolean exclusive() {
        return true;
    }

    /**
     * Returns for how long a holder may believe a grant that the store has ended together with its session. The page of the store says
     * so; two claims for longer are a violation.
     *
     * @return nanoseconds; 0 if a grant lasts as long as its lease, whatever becomes of sessions
     */
    default long noticeNanos() {
        return 0;
    }

    /**
     * Tells whether {@code fair} waiters of different processes are served in order.
     *
     * @return true if so
     */
    default boolean fifo() {
        return false;
    }

    /**
     * Finds a way to move what belongs to a lock to another server.
     *
     * @param lock its name
     * @param choice a number that chooses among the other servers
     * @return what would move; empty if nothing does on this store, or not now
     * @throws IOException if the servers cannot be asked
     */
    default Optional<Move> move(String lock, int choice) throws IOException {
        return Optional.empty();
    }

    /**
     * Tells whether clients may ask for {@code fair}.
     *
     * @return false if the store has no order, so that it refuses
     */
    default boolean fair() {
        return fifo();
    }

    /**
     * Opens a connection that writes to a server without the library.
     *
     * @param port of a proxy to one of the nodes
     * @return the connection, for one thread
     * @throws Exception if the server cannot be reached
     */
    RawWrite rawWrite(int port) throws Exception;

    /** Waits until all servers do their work again, after the last fault. */
    default void awaitHealthy() throws Exception {}

    @Override
    void close();
}
