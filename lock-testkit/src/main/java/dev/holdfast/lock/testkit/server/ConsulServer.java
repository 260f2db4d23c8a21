package dev.holdfast.lock.testkit.server;

import dev.holdfast.lock.testkit.server.network.ServerNetwork;
import dev.holdfast.lock.testkit.server.process.ServerEnvironment;
import dev.holdfast.lock.testkit.server.process.ServerImage;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A real Consul: one server, or several with an agent for clients, whose nodes can be paused, killed and started again one by
 * one. Data lives in temporary folders and outlives restarts. The shortest TTL of a session is one second.
 *
 * <p>Needs the binary {@code consul} on the path, where bin/install-consul puts it, or where the system property
 * {@code holdfast.consul.binary} says. Thread-safe.
 */
public final class ConsulServer implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofMinutes(3);

    private final List<ConsulNode> servers;
    private final ConsulNode agent;
    private final String version;
    private final String origin;

    private ConsulServer(List<ConsulNode> servers, ConsulNode agent, String version, String origin) {
        this.servers = List.copyOf(servers);
        this.agent = agent;
        this.version = version;
        this.origin = origin;
    }

    /**
     * Starts a single server, which keeps its data, without ACLs and TLS.
     *
     * @return the server, ready
     * @throws IOException if it does not get ready
     * @throws InterruptedException if interrupted while waiting
     */
    public static ConsulServer start() throws IOException, InterruptedException {
        return start(1, ConsulConfiguration.Security.NONE);
    }

    /**
     * Starts a cluster of servers, and an agent for clients that is no server.
     *
     * @param servers how many, at least 2
     * @return the cluster, ready
     * @throws IOException if it does not get ready
     * @throws InterruptedException if interrupted while waiting
     */
    public static ConsulServer startCluster(int servers) throws IOException, InterruptedException {
        return start(servers, ConsulConfiguration.Security.NONE);
    }

    /**
     * Starts a cluster of servers that can be cut off from each other.
     *
     * @param network has a machine for each server, at least 2; the agent for clients is on the first
     * @return the cluster, ready; to be closed before the network
     * @throws IOException if it does not get ready
     * @throws InterruptedException if interrupted while waiting
     */
    public static ConsulServer startCluster(ServerNetwork network) throws IOException, InterruptedException {
        return start(network.size(), ConsulConfiguration.Security.NONE, network);
    }

    /**
     * Starts a single server that refuses everything without a token.
     *
     * @param managementToken a UUID, the token that may do everything
     * @return the server, ready
     * @throws IOException if it does not get ready
     * @throws InterruptedException if interrupted while waiting
     */
    public static ConsulServer startWithAcl(String managementToken) throws IOException, InterruptedException {
        return start(1, new ConsulConfiguration.Security(managementToken, null, null));
    }

    /**
     * Starts a single server that speaks TLS on {@link #tlsPort()} as well.
     *
     * @param certificate a PEM file
     * @param key a PEM file
     * @return the server, ready
     * @throws IOException if it does not get ready
     * @throws InterruptedException if interrupted while waiting
     */
    public static ConsulServer startTls(Path certificate, Path key) throws IOException, InterruptedException {
        return start(1, new ConsulConfiguration.Security("", certificate, key));
    }

    private static ConsulServer start(int count, ConsulConfiguration.Security security)
            throws IOException, InterruptedException {
        return start(count, security, null);
    }

    private static ConsulServer start(int count, ConsulConfiguration.Security security, @Nullable ServerNetwork network)
            throws IOException, InterruptedException {
        List<ConsulNode> nodes = ConsulConfiguration.startNodes(count, security, network);
        try {
            List<ConsulNode> servers = nodes.subList(0, count);
            ConsulNode agent = nodes.get(nodes.size() - 1);
            new ConsulServer(servers, agent, "", "").awaitHealthy();
            String origin = network != null
                    ? " on " + network
                    : ServerImage.chosen("consul").map(image -> " in " + image).orElse("");
            return new ConsulServer(servers, agent, agent.version(), origin);
        } catch (IOException | InterruptedException | RuntimeException e) {
            nodes.forEach(node -> node.process().close());
            throw e;
        }
    }

    /**
     * Returns the version of Consul.
     *
     * @return for example {@code 1.8.7}
     */
    public String version() {
        return version;
    }

    /**
     * Returns the servers.
     *
     * @return the servers, in a constant order
     */
    public List<ConsulNode> servers() {
        return servers;
    }

    /**
     * Returns the agent that clients use.
     *
     * @return the only server, or the agent of a cluster that is no server
     */
    public ConsulNode agent() {
        return agent;
    }

    /**
     * Returns the agent's port for TLS.
     *
     * @return the port; nothing listens on it unless the server was started with TLS
     */
    public int tlsPort() {
        return agent.process().environment().port(2);
    }

    /**
     * Waits for a leader on which all nodes agree.
     *
     * @return the server that is the leader now
     * @throws InterruptedException if interrupted while waiting
     */
    public ConsulNode awaitLeader() throws InterruptedException {
        await("a leader", () -> leader() != null);
        ConsulNode leader = leader();
        return leader == null ? awaitLeader() : leader;
    }

    /**
     * Finds the leader by what the servers that answer say.
     *
     * @return the leader, or null if none is known
     */
    public @Nullable ConsulNode leader() {
        for (ConsulNode asked : servers) {
            try {
                String address = asked.quickly("/v1/status/leader");
                for (ConsulNode server : servers) {
                    if (address.contains(":" + server.process().environment().port(1) + "\"")) {
                        return server;
                    }
                }
            } catch (IOException e) {
                // the next one
            }
        }
        return null;
    }

    /**
     * Freezes the leader until the others have chosen another one. Without effect on a single server.
     *
     * @throws InterruptedException if interrupted while waiting
     */
    public void changeLeader() throws InterruptedException {
        if (servers.size() == 1) {
            return;
        }
        ConsulNode before = awaitLeader();
        before.pause();
        try {
            await("another leader", () -> {
                ConsulNode now = leader();
                return now != null && now != before;
            });
        } finally {
            before.resume();
        }
        awaitHealthy();
    }

    /**
     * Waits until all nodes can write, and all servers have a vote.
     *
     * @throws InterruptedException if interrupted while waiting
     */
    public void awaitHealthy() throws InterruptedException {
        await(
                "all nodes to be healthy",
                () -> agent.isHealthy()
                        && servers.stream().allMatch(ConsulNode::isHealthy)
                        && voters() == servers.size());
    }

    private int voters() {
        try {
            return agent.quickly("/v1/operator/raft/configuration").split("\"Voter\":true", -1).length - 1;
        } catch (IOException e) {
            return 0;
        }
    }

    private void await(String what, BooleanSupplier condition) throws InterruptedException {
        long start = System.nanoTime();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - start > PATIENCE.toNanos()) {
                throw new IllegalStateException(this + ": waited " + PATIENCE + " in vain for " + what);
            }
            TimeUnit.MILLISECONDS.sleep(30);
        }
    }

    /**
     * Runs Consul's own program against the clients' agent.
     *
     * @param words the command, which has two words, and its arguments, such as {@code kv get some/key}
     * @return what it printed
     * @throws IOException if it ends with another status than 0; the message has its output
     * @throws InterruptedException if interrupted while waiting
     */
    public String run(String... words) throws IOException, InterruptedException {
        ServerEnvironment environment = agent.process().environment();
        List<String> command = new ArrayList<>(List.of(ConsulConfiguration.binary(environment), words[0], words[1]));
        command.add("-http-addr=http://" + environment.host() + ":" + agent.port());
        command.addAll(List.of(words).subList(2, words.length));
        return environment.run(command.toArray(String[]::new));
    }

    /**
     * Kills all nodes and starts them again with the data they had.
     *
     * @throws IOException if one does not get ready
     * @throws InterruptedException if interrupted while waiting
     */
    public void restart() throws IOException, InterruptedException {
        for (ConsulNode node : nodes()) {
            node.kill();
        }
        for (ConsulNode node : nodes()) {
            node.start();
        }
        awaitHealthy();
    }

    /**
     * Kills all nodes and starts them again without the data they had, as a development agent starts.
     *
     * @throws IOException if one does not get ready
     * @throws InterruptedException if interrupted while waiting
     */
    public void restartEmpty() throws IOException, InterruptedException {
        for (ConsulNode node : nodes()) {
            node.kill();
        }
        for (ConsulNode node : nodes()) {
            node.deleteData();
            node.start();
        }
        awaitHealthy();
    }

    /** Freezes all nodes. */
    public void pause() {
        nodes().forEach(ConsulNode::pause);
    }

    /** Ends {@link #pause()}. */
    public void resume() {
        nodes().forEach(ConsulNode::resume);
    }

    /**
     * Returns the servers, and the agent if it is not one of them.
     *
     * @return all nodes
     */
    public List<ConsulNode> nodes() {
        List<ConsulNode> nodes = new ArrayList<>(servers);
        if (!servers.contains(agent)) {
            nodes.add(agent);
        }
        return nodes;
    }

    /** Kills all nodes and removes what they wrote. Idempotent. */
    @Override
    public void close() {
        nodes().forEach(node -> node.process().close());
    }

    @Override
    public String toString() {
        return "consul " + version + origin + ", "
                + (servers.size() == 1 ? "single server" : servers.size() + " servers and an agent");
    }
}
