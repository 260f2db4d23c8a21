package dev.holdfast.lock.testkit.server;

import dev.holdfast.lock.testkit.server.network.ServerNetwork;
import dev.holdfast.lock.testkit.server.process.LoopbackPorts;
import dev.holdfast.lock.testkit.server.process.ServerBinary;
import dev.holdfast.lock.testkit.server.process.ServerEnvironment;
import dev.holdfast.lock.testkit.server.process.ServerImage;
import dev.holdfast.lock.testkit.server.process.ServerProcess;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A real etcd: one node, or a cluster of several on this machine whose nodes can be paused, killed and started again one
 * by one. Data lives in temporary folders and outlives restarts.
 *
 * <p>Needs the binary {@code etcd} (Debian: etcd-server) on the path, or where the system property
 * {@code holdfast.etcd.binary} says. Thread-safe.
 */
public final class EtcdServer implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofMinutes(3);
    private static final String LOOPBACK = "127.0.0.1";
    private static final String BINARY_PROPERTY = "holdfast.etcd.binary";

    private final List<EtcdNode> nodes;
    private final String version;
    private final String origin;

    private EtcdServer(List<EtcdNode> nodes, String version, String origin) {
        this.nodes = List.copyOf(nodes);
        this.version = version;
        this.origin = origin;
    }

    /**
     * Starts a single node without TLS.
     *
     * @return the server, ready
     * @throws IOException if it does not get ready
     * @throws InterruptedException if interrupted while waiting
     */
    public static EtcdServer start() throws IOException, InterruptedException {
        return start(1, null);
    }

    /**
     * Starts a cluster without TLS.
     *
     * @param nodes how many, positive
     * @return the cluster, ready
     * @throws IOException if it does not get ready
     * @throws InterruptedException if interrupted while waiting
     */
    public static EtcdServer startCluster(int nodes) throws IOException, InterruptedException {
        return start(nodes, null);
    }

    /**
     * Starts a cluster of another version than the one on the path.
     *
     * @param binary the etcd program
     * @param nodes how many, positive
     * @return the cluster, ready
     * @throws IOException if it does not get ready
     * @throws InterruptedException if interrupted while waiting
     */
    public static EtcdServer startCluster(Path binary, int nodes) throws IOException, InterruptedException {
        return start(null, binary.toString(), nodes, null);
    }

    /**
     * Starts a cluster of a given version.
     *
     * @param image of etcd
     * @param nodes how many, positive
     * @return the cluster, ready
     * @throws IOException if it does not get ready
     * @throws InterruptedException if interrupted while waiting
     */
    public static EtcdServer startCluster(ServerImage image, int nodes) throws IOException, InterruptedException {
        return start(image, "etcd", nodes, null);
    }

    /**
     * Starts a single node that speaks TLS to its clients.
     *
     * @param certificate a PEM file
     * @param key a PEM file
     * @return the server, ready
     * @throws IOException if it does not get ready
     * @throws InterruptedException if interrupted while waiting
     */
    public static EtcdServer startTls(Path certificate, Path key) throws IOException, InterruptedException {
        return start(1, new Tls(certificate, key));
    }

    /**
     * Starts a cluster whose nodes can be cut off from each other.
     *
     * @param binary the etcd program, or null for the one on the path
     * @param network has a machine for each node
     * @return the cluster, ready; to be closed before the network
     * @throws IOException if it does not get ready
     * @throws InterruptedException if interrupted while waiting
     */
    public static EtcdServer startCluster(@Nullable Path binary, ServerNetwork network)
            throws IOException, InterruptedException {
        String program = binary == null ? installed() : binary.toString();
        return start(null, program, network.size(), null, network);
    }

    /**
     * Starts a single node of the version on the path.
     *
     * @param options more of the command line, such as {@code --quota-backend-bytes=2097152}
     * @return the server, ready
     * @throws IOException if it does not get ready
     * @throws InterruptedException if interrupted while waiting
     */
    public static EtcdServer startWith(String... options) throws IOException, InterruptedException {
        return start(null, installed(), 1, null, null, options);
    }

    private static String installed() {
        String chosen = System.getProperty(BINARY_PROPERTY);
        return chosen == null ? ServerBinary.find(List.of("etcd")).toString() : chosen;
    }

    private record Tls(Path certificate, Path key) {}

    private static EtcdServer start(int count, @Nullable Tls tls) throws IOException, InterruptedException {
        ServerImage image = ServerImage.chosen("etcd").orElse(null);
        if (image != null) {
            return start(image, "etcd", count, tls);
        }
        return start(null, installed(), count, tls);
    }

    private static EtcdServer start(@Nullable ServerImage image, String binary, int count, @Nullable Tls tls)
            throws IOException, InterruptedException {
        return start(image, binary, count, tls, null);
    }

    private static EtcdServer start(
            @Nullable ServerImage image,
            String binary,
            int count,
            @Nullable Tls tls,
            @Nullable ServerNetwork network,
            String... options)
            throws IOException, InterruptedException {
        List<Integer> peers = new ArrayList<>();
        StringBuilder cluster = new StringBuilder();
        for (int i = 0; i < count; i++) {
            peers.add(LoopbackPorts.next());
            cluster.append(i == 0 ? "" : ",")
                    .append("n")
                    .append(i)
                    .append("=http://")
                    .append(network == null ? LOOPBACK : network.machine(i).address())
                    .append(":");
            cluster.append(peers.get(i));
        }
        String scheme = tls == null ? "http" : "https";
        List<EtcdNode> nodes = new ArrayList<>();
        try {
            for (int i = 0; i < count; i++) {
                String name = "n" + i;
                int peer = peers.get(i);
                ServerProcess.Builder process = ServerProcess.builder("etcd-" + name)
                        .image(image)
                        .on(network == null ? null : network.machine(i))
                        .ports(2)
                        .patience(PATIENCE)
                        .command(environment -> {
                            List<String> command =
                                    command(binary, name, peer, cluster.toString(), scheme, tls, environment);
                            command.addAll(List.of(options));
                            return command;
                        });
                if (tls != null) {
                    process.reads(tls.certificate()).reads(tls.key());
                }
                nodes.add(new EtcdNode(process.start(), scheme));
            }
            new EtcdServer(nodes, "", "").awaitHealthy();
            return new EtcdServer(nodes, nodes.get(0).version(), image == null ? "" : " in " + image);
        } catch (IOException | InterruptedException | RuntimeException e) {
            nodes.forEach(node -> node.process().close());
            throw e;
        }
    }

    private static List<String> command(
            String binary,
            String name,
            int peer,
            String cluster,
            String scheme,
            @Nullable Tls tls,
            ServerEnvironment environment) {
        String client = scheme + "://" + environment.host() + ":" + environment.port();
        String peerUrl = "http://" + environment.host() + ":" + peer;
        List<String> command = new ArrayList<>(List.of(binary, "--name", name, "--logger", "zap"));
        command.addAll(
                List.of("--data-dir", environment.folder().resolve("data").toString()));
        command.addAll(List.of("--listen-client-urls", client, "--advertise-client-urls", client));
        command.addAll(List.of("--listen-peer-urls", peerUrl, "--initial-advertise-peer-urls", peerUrl));
        command.addAll(List.of("--listen-metrics-urls", "http://" + environment.host() + ":" + environment.port(1)));
        command.addAll(List.of("--initial-cluster", cluster, "--initial-cluster-token", "holdfast"));
        if (tls != null) {
            command.addAll(List.of("--cert-file", tls.certificate().toString()));
            command.addAll(List.of("--key-file", tls.key().toString()));
        }
        return command;
    }

    /**
     * Returns the server's version.
     *
     * @return for example {@code 3.4.23}
     */
    public String version() {
        return version;
    }

    /**
     * Returns the nodes.
     *
     * @return the nodes, in a constant order
     */
    public List<EtcdNode> nodes() {
        return nodes;
    }

    /**
     * Returns where clients connect.
     *
     * @return the nodes' endpoints, in a constant order
     */
    public List<String> endpoints() {
        return nodes.stream().map(EtcdNode::endpoint).toList();
    }

    /**
     * Returns hosts and ports as a client's URI has them.
     *
     * @return for example {@code 127.0.0.1:23790,127.0.0.1:23801}
     */
    public String hostsAndPorts() {
        return nodes.stream().map(node -> node.host() + ":" + node.port()).collect(Collectors.joining(","));
    }

    /**
     * Waits for a leader.
     *
     * @return the node that is the leader now
     * @throws InterruptedException if interrupted while waiting
     */
    public EtcdNode awaitLeader() throws InterruptedException {
        await("a leader", () -> nodes.stream().anyMatch(EtcdNode::isLeader));
        return nodes.stream().filter(EtcdNode::isLeader).findFirst().orElseGet(() -> nodes.get(0));
    }

    /**
     * Waits until all nodes are healthy.
     *
     * @throws InterruptedException if interrupted while waiting
     */
    public void awaitHealthy() throws InterruptedException {
        await("all nodes to be healthy", () -> nodes.stream().allMatch(EtcdNode::isHealthy));
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
     * Counts how many calls of a gRPC method the nodes have begun to serve.
     *
     * @param method such as {@code Txn}, {@code Range} or {@code LeaseGrant}
     * @return the sum over all nodes that answer; forgotten by a node that restarts
     * @throws IOException if a node does not answer
     */
    public long calls(String method) throws IOException {
        return sum("grpc_server_started_total", "grpc_method=\"" + method + "\"");
    }

    /**
     * Adds up a metric over all nodes.
     *
     * @param metric its name
     * @param label a text that the sample's labels contain
     * @return the sum
     * @throws IOException if a node does not answer
     */
    public long sum(String metric, String label) throws IOException {
        long sum = 0;
        for (EtcdNode node : nodes) {
            sum += node.sum(metric, label);
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
        for (EtcdNode node : nodes) {
            node.kill();
        }
        for (EtcdNode node : nodes) {
            node.start();
        }
        awaitHealthy();
    }

    /** Freezes all nodes. */
    public void pause() {
        nodes.forEach(EtcdNode::pause);
    }

    /** Ends {@link #pause()}. */
    public void resume() {
        nodes.forEach(EtcdNode::resume);
    }

    /** Kills all nodes and removes what they wrote. Idempotent. */
    @Override
    public void close() {
        nodes.forEach(node -> node.process().close());
    }

    @Override
    public String toString() {
        return "etcd " + version + origin + ", " + (nodes.size() == 1 ? "single node" : nodes.size() + " nodes");
    }
}
