package dev.holdfast.chaos.cluster;

import dev.holdfast.lock.testkit.server.process.ServerProcess;
import java.io.IOException;

/** One server process of a cluster. */
@FunctionalInterface
public interface Node {

    /**
     * Returns the process itself; what is to happen to it goes through this node.
     *
     * @return the same one after a restart
     */
    ServerProcess process();

    /**
     * Returns the address that clients would connect to, if there were no proxy.
     *
     * @return {@code 127.0.0.1}, or that of the node's machine
     */
    default String host() {
        return process().host();
    }

    /**
     * Returns the port at that address.
     *
     * @return a port
     */
    default int port() {
        return process().port();
    }

    /** Stops it (SIGSTOP). */
    default void pause() {
        process().pause();
    }

    /** Lets it go on (SIGCONT). */
    default void resume() {
        process().resume();
    }

    /**
     * Kills it (SIGKILL).
     *
     * @throws InterruptedException if interrupted
     */
    default void kill() throws InterruptedException {
        process().kill();
    }

    /**
     * Starts it again with what it had on its disk.
     *
     * @throws IOException if it does not start
     * @throws InterruptedException if interrupted
     */
    default void start() throws IOException, InterruptedException {
        process().start();
    }

    /**
     * Wraps a process.
     *
     * @param process the server
     * @return the node
     */
    static Node of(ServerProcess process) {
        return () -> process;
    }
}
