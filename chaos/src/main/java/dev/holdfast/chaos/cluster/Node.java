package dev.holdfast.chaos.cluster;

import dev.holdfast.lock.testkit.server.ConsulNode;
import dev.holdfast.lock.testkit.server.EtcdNode;
import dev.holdfast.lock.testkit.server.ServerProcess;
import java.io.IOException;

/** One server process of a cluster. */
public interface Node {

    /**
     * Returns the address that clients would connect to, if there were no proxy.
     *
     * @return {@code 127.0.0.1}, or that of the node's machine
     */
    String host();

    /**
     * Returns the port at that address.
     *
     * @return a port
     */
    int port();

    /** Stops it (SIGSTOP). */
    void pause();

    /** Lets it go on (SIGCONT). */
    void resume();

    /**
     * Kills it (SIGKILL).
     *
     * @throws InterruptedException if interrupted
     */
    void kill() throws InterruptedException;

    /**
     * Starts it again with what it had on its disk.
     *
     * @throws IOException if it does not start
     * @throws InterruptedException if interrupted
     */
    void start() throws IOException, InterruptedException;

    /**
     * Wraps a process.
     *
     * @param process the server
     * @return the node
     */
    static Node of(ServerProcess process) {
        return new Node() {
            @Override
            public String host() {
                return process.host();
            }

            @Override
            public int port() {
                return process.port();
            }

            @Override
            public void pause() {
                process.pause();
            }

            @Override
            public void resume() {
                process.resume();
            }

            @Override
            public void kill() throws InterruptedException {
                process.kill();
            }

            @Override
            public void start() throws IOException, InterruptedException {
                process.start();
            }
        };
    }

    /**
     * Wraps a node of etcd.
     *
     * @param node the server
     * @return the node
     */
    static Node of(EtcdNode node) {
        return new Node() {
            @Override
            public String host() {
                return node.host();
            }

            @Override
            public int port() {
                return node.port();
            }

            @Override
            public void pause() {
                node.pause();
            }

            @Override
            public void resume() {
                node.resume();
            }

            @Override
            public void kill() throws InterruptedException {
                node.kill();
            }

            @Override
            public void start() throws IOException, InterruptedException {
                node.start();
            }
        };
    }

    /**
     * Wraps a node of Consul.
     *
     * @param node the server
     * @return the node
     */
    static Node of(ConsulNode node) {
        return new Node() {
            @Override
            public String host() {
                return "127.0.0.1";
            }

            @Override
            public int port() {
                return node.port();
            }

            @Override
            public void pause() {
                node.pause();
            }

            @Override
            public void resume() {
                node.resume();
            }

            @Override
            public void kill() throws InterruptedException {
                node.kill();
            }

            @Override
            public void start() throws IOException, InterruptedException {
                node.start();
            }
        };
    }
}
