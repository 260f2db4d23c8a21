package dev.holdfast.lock.testkit.server;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
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
    private static final String BINARY_PROPERTY = "holdfast.consul.binary";
    private static final Pattern VERSION = Pattern.compile("\"Version\":\"([^\"]+)\"");
    private static final Pattern COUNT = Pattern.compile("(?m)^consul_http_\\S*_count (\\d+)");
    private static final int PORTS = 4;

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

    /** What the agents have beyond their places. */
    private record Security(
            String token,
            @Nullable Path certificate,
            @Nullable Path key) {
        static final Security NONE = new Security("", null, null);
    }

    /**
     * Starts a single server, which keeps its data, without ACLs and TLS.
     *
     * @return the server, ready
     * @throws IOException if it does not get ready
     * @throws InterruptedException if interrupted while waiting
     */
    public static ConsulServer start() throws IOException, InterruptedException {
        return start(1, Security.NONE);
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
        return start(servers, Security.NONE);
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
        return start(1, new Security(managementToken, null, null));
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
        return start(1, new Security("", certificate, key));
    }

    private static ConsulServer start(int count, Security security) throws IOException, InterruptedException {
        ServerImage image = ServerImage.chosen("consul").orElse(null);
        List<Integer> gossip = IntStream.rangeClosed(0, count == 1 ? 0 : count)
                .map(i -> LoopbackPorts.next())
                .boxed()
                .toList();
        List<ConsulNode> nodes = new ArrayList<>();
        try {
            for (int i = 0; i < gossip.size(); i++) {
                nodes.add(node(i < count ? "s" + i : "agent", i < count ? count : 0, gossip, i, image, security));
            }
            List<ConsulNode> servers = nodes.subList(0, count);
            ConsulNode agent = nodes.get(nodes.size() - 1);
            new ConsulServer(servers, agent, "", "").awaitHealthy();
            Matcher version = VERSION.matcher(agent.request("GET", "/v1/agent/self", ""));
            return new ConsulServer(
                    servers, agent, version.find() ? version.group(1) : "unknown", image == null ? "" : " in " + image);
        } catch (IOException | InterruptedException | RuntimeException e) {
            nodes.forEach(node -> node.process().close());
            throw e;
        }
    }

    private static ConsulNode node(
            String name, int servers, List<Integer> gossip, int number, @Nullable ServerImage image, Security security)
            throws IOException, InterruptedException {
        ServerProcess.Builder process = ServerProcess.builder("consul-" + name)
                .image(image)
                .ports(PORTS)
                .patience(PATIENCE)
                .prepare(environment -> environment.write(
                        "agent.json", configuration(name, servers, gossip, number, image, security, environment)))
                .command(environment -> List.of(
                        binary(environment),
                        "agent",
                        "-config-file",
                        environment.folder().resolve("agent.json").toString()));
        if (security.certificate() != null && security.key() != null) {
            process.reads(security.certificate()).reads(security.key());
        }
        return new ConsulNode(name, process.start(), security.token());
    }

    private static String binary(ServerEnvironment environment) {
        String chosen = System.getProperty(BINARY_PROPERTY);
        return chosen != null
                ? chosen
                : environment.program("consul", System.getProperty("user.home") + "/.cache/holdfast/consul/usr/bin");
    }

    private static String configuration(
            String name,
            int servers,
            List<Integer> gossip,
            int number,
            @Nullable ServerImage image,
            Security security,
            ServerEnvironment environment) {
        String others = IntStream.range(0, gossip.size())
                .filter(i -> i != number)
                .mapToObj(i -> "\"" + environment.host() + ":" + gossip.get(i) + "\"")
                .collect(Collectors.joining(","));
        StringBuilder json = new StringBuilder("{\n");
        json.append("\"node_name\": \"").append(name).append("\",\n");
        json.append("\"bind_addr\": \"").append(environment.host()).append("\",\n");
        json.append("\"data_dir\": \"")
                .append(environment.folder().resolve("data"))
                .append("\",\n");
        json.append("\"retry_join\": [").append(others).append("], \"retry_interval\": \"1s\",\n");
        json.append("\"leave_on_terminate\": false, \"skip_leave_on_interrupt\": true,\n");
        json.append(
                "\"disable_update_check\": true, \"session_ttl_min\": \"1s\", \"performance\": {\"raft_multiplier\": 1},\n");
        json.append("\"telemetry\": {\"prometheus_retention_time\": \"2h\", \"disable_hostname\": true},\n");
        if (servers > 0) {
            json.append("\"server\": true, \"bootstrap_expect\": ")
                    .append(servers)
                    .append(",\n");
        }
        if (!security.token().isEmpty()) {
            json.append("\"acl\": {\"enabled\": true, \"default_policy\": \"deny\", \"tokens\": {\"master\": \"")
                    .append(security.token())
                    .append("\"}},\n");
        }
        if (security.certificate() != null) {
            json.append("\"cert_file\": \"").append(security.certificate()).append("\",\n");
            json.append("\"key_file\": \"").append(security.key()).append("\",\n");
        }
        json.append("\"ports\": {\"dns\": -1, \"grpc\": -1, \"serf_wan\": -1,");
        json.append(image == null ? "" : " \"grpc_tls\": -1,"); // newer versions only
        json.append(" \"http\": ").append(environment.port());
        json.append(", \"server\": ").append(environment.port(1));
        json.append(", \"https\": ").append(security.certificate() == null ? -1 : environment.port(2));
        return json.append(", \"serf_lan\": ")
                .append(gossip.get(number))
                .append("}\n}\n")
                .toString();
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
     * @return the port; nobody listens on it unless the server was started with TLS
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
     * Waits until all nodes can write.
     *
     * @throws InterruptedException if interrupted while waiting
     */
    public void awaitHealthy() throws InterruptedException {
        await(
                "all nodes to be healthy",
                () -> agent.isHealthy() && servers.stream().allMatch(ConsulNode::isHealthy));
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
     * Counts the HTTP requests that the clients' agent has answered. One that counts is counted by the next call.
     *
     * @return the number; forgotten when it restarts
     * @throws IOException if it does not answer
     */
    public long requests() throws IOException {
        long sum = 0;
        Matcher count = COUNT.matcher(agent.request("GET", "/v1/agent/metrics?format=prometheus", ""));
        while (count.find()) {
            if (!count.group().contains("agent_metrics")) {
                sum += Long.parseLong(count.group(1));
            }
        }
        return sum;
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
            Path data = node.process().environment().folder().resolve("data");
            try (Stream<Path> files = Files.walk(data)) {
                for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                    Files.delete(file);
                }
            }
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
