package dev.holdfast.lock.testkit.server;

import dev.holdfast.lock.testkit.server.network.ServerNetwork;
import dev.holdfast.lock.testkit.server.process.ClassArchive;
import dev.holdfast.lock.testkit.server.process.LoopbackPorts;
import dev.holdfast.lock.testkit.server.process.ServerEnvironment;
import dev.holdfast.lock.testkit.server.process.ServerImage;
import dev.holdfast.lock.testkit.server.process.ServerProcess;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * ZooKeeper for tests: one server, or an ensemble, each server in a JVM of its own, so that it can be paused, killed and
 * restarted by {@link #node}. The class path of the servers is passed in: this module does not depend on ZooKeeper.
 *
 * <p>The administrator's commands (four-letter words) are open. Writes are not forced to the disk, which a killed process
 * does not notice.
 *
 * <p>Thread-safe.
 */
public final class ZooKeeperServer implements AutoCloseable {

    private static final String HOST = "127.0.0.1";
    private static final String TLS_PORT = "secureClientPort";
    private static final int ADMIN_MILLIS = 5_000;
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final long PROBE_MILLIS = 30;

    /** An image has the libraries in a folder next to that of the start script, which is on the path. */
    private static final String IN_IMAGE = "exec java -cp \"$(dirname \"$(command -v zkServer.sh)\")/../lib/*\" \"$@\"";

    private final List<ServerProcess> nodes = new ArrayList<>();
    private final List<Integer> peerPorts = new ArrayList<>();
    private final Builder builder;

    private ZooKeeperServer(Builder builder) {
        this.builder = builder;
        for (int i = 0; i < 2 * builder.servers && builder.servers > 1; i++) {
            peerPorts.add(LoopbackPorts.next());
        }
    }

    /**
     * Starts to describe a server or an ensemble.
     *
     * @param classPath has ZooKeeper and what its server needs (metrics-core, snappy-java), in the platform's syntax
     * @return a new builder: one server with ticks of 200 ms
     */
    public static Builder builder(String classPath) {
        return builder(List.of("-cp", classPath));
    }

    /**
     * Starts to describe a server or an ensemble whose classes are in an archive of the JVM.
     *
     * @param classes options for {@code java} with the class path, such as those of {@link ClassArchive}
     * @return a new builder: one server with ticks of 200 ms
     */
    public static Builder builder(List<String> classes) {
        return new Builder(classes);
    }

    /**
     * The addresses for clients.
     *
     * @return {@code host:port} of each server, with commas between
     */
    public String connectString() {
        return nodes.stream().map(node -> node.host() + ":" + node.port()).collect(Collectors.joining(","));
    }

    /**
     * The version of the first server, and its image if it runs from one.
     *
     * @return for example {@code 3.9.5} or {@code 3.8.0 in zookeeper:3.8}
     * @throws IOException if the server does not answer within five seconds
     */
    public String version() throws IOException {
        String first = admin(0, "srvr").lines().findFirst().orElse("");
        String version = first.replaceFirst("^Zookeeper version: ([0-9.]+).*", "$1");
        return version + (builder.image == null ? "" : " in " + builder.image);
    }

    /**
     * How many servers there are.
     *
     * @return 1, or the size of the ensemble
     */
    public int size() {
        return nodes.size();
    }

    /**
     * One server's process, to be paused, killed and started. Its second port is the one for TLS, if configured.
     *
     * @param index from 0
     * @return the process
     */
    public ServerProcess node(int index) {
        return nodes.get(index);
    }

    /**
     * Finds the leader of an ensemble.
     *
     * @return its index
     * @throws IllegalStateException if no server says that it leads
     */
    public int leader() {
        for (int i = 0; i < nodes.size(); i++) {
            if (mode(i).equals("leader")) {
                return i;
            }
        }
        throw new IllegalStateException("no server of " + connectString() + " leads");
    }

    /**
     * Sends an administrator's command.
     *
     * @param index of the server, from 0
     * @param command such as {@code mntr}, {@code cons} or {@code wchs}
     * @return the answer
     * @throws IOException if the server does not answer within five seconds
     */
    public String admin(int index, String command) throws IOException {
        try (Socket socket = new Socket()) {
            socket.connect(
                    new InetSocketAddress(
                            nodes.get(index).host(), nodes.get(index).port()),
                    ADMIN_MILLIS);
            socket.setSoTimeout(ADMIN_MILLIS);
            socket.getOutputStream().write(command.getBytes(StandardCharsets.US_ASCII));
            socket.getOutputStream().flush();
            return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    /**
     * Reads one number of {@code mntr}, summed over all servers that answer.
     *
     * @param key such as {@code zk_packets_received}
     * @return the sum; 0 where a server does not report it
     * @throws IOException if a server that is up does not answer
     */
    public long monitor(String key) throws IOException {
        long sum = 0;
        for (int i = 0; i < nodes.size(); i++) {
            for (String line : admin(i, "mntr").split("\n")) {
                String[] pair = line.split("\t");
                if (pair.length == 2 && pair[0].equals(key)) {
                    sum += Long.parseLong(pair[1].trim());
                }
            }
        }
        return sum;
    }

    /**
     * Kills all servers and starts them again with what they have on disk.
     *
     * @throws IOException if they do not serve again
     * @throws InterruptedException if interrupted while waiting
     */
    public void restart() throws IOException, InterruptedException {
        for (ServerProcess node : nodes) {
            node.kill();
        }
        for (ServerProcess node : nodes) {
            node.start();
        }
        awaitServing();
    }

    /**
     * Waits until every server serves clients, on the port for TLS as well if {@code secureClientPort} is configured.
     *
     * @throws IOException if that takes more than a minute
     * @throws InterruptedException if interrupted while waiting
     */
    public void awaitServing() throws IOException, InterruptedException {
        long start = System.nanoTime();
        for (int i = 0; i < nodes.size(); i++) {
            while (!serves(i)) {
                if (System.nanoTime() - start > PATIENCE.toNanos()) {
                    throw new IOException(nodes.get(i) + " does not serve after " + PATIENCE + "; its log is "
                            + nodes.get(i).environment().log());
                }
                Thread.sleep(PROBE_MILLIS);
            }
        }
    }

    /** Kills all servers and deletes their folders. Idempotent. */
    @Override
    public void close() {
        nodes.forEach(ServerProcess::close);
        peerPorts.forEach(LoopbackPorts::giveBack);
    }

    @Override
    public String toString() {
        return "zookeeper " + connectString();
    }

    /** On both ports: a server listens on the one for TLS only after it serves clients on the other. */
    private boolean serves(int index) {
        return !mode(index).isEmpty() && (!builder.config.containsKey(TLS_PORT) || listens(nodes.get(index), 1));
    }

    private static boolean listens(ServerProcess node, int port) {
        try (Socket socket = new Socket()) {
            socket.connect(new InetSocketAddress(node.host(), node.environment().port(port)), ADMIN_MILLIS);
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    /** {@code standalone}, {@code leader} or {@code follower}; empty while the server does not serve. */
    private String mode(int index) {
        try {
            for (String line : admin(index, "srvr").split("\n")) {
                if (line.startsWith("Mode: ")) {
                    return line.substring("Mode: ".length()).trim();
                }
            }
        } catch (IOException e) {
            // It is down or paused, which is an answer as well.
        }
        return "";
    }

    private void launch() throws IOException, InterruptedException {
        for (int i = 0; i < builder.servers; i++) {
            int id = i + 1;
            nodes.add(ServerProcess.builder("zookeeper-" + id)
                    .image(builder.network == null ? builder.image : null)
                    .on(builder.network == null ? null : builder.network.machine(i))
                    .ports(2)
                    .prepare(environment -> prepare(environment, id))
                    .command(this::command)
                    .start());
        }
        awaitServing();
    }

    private void prepare(ServerEnvironment environment, int id) throws Exception {
        Path data = Files.createDirectories(environment.folder().resolve("data"));
        builder.prepare.run(environment);
        List<String> lines = new ArrayList<>(List.of(
                "dataDir=" + data,
                "tickTime=" + builder.tickMillis,
                "initLimit=50",
                "syncLimit=" + builder.syncLimit,
                "maxClientCnxns=0",
                "4lw.commands.whitelist=*",
                "admin.enableServer=false",
                "maxSessionTimeout=600000",
                "clientPortAddress=" + environment.host(),
                "clientPort=" + environment.port()));
        for (int i = 0; i < peerPorts.size(); i += 2) {
            String host = builder.network == null
                    ? HOST
                    : builder.network.machine(i / 2).address();
            lines.add("server." + (i / 2 + 1) + "=" + host + ":" + peerPorts.get(i) + ":" + peerPorts.get(i + 1));
        }
        builder.config.forEach((key, value) -> lines.add(key + "="
                + value.replace("${folder}", environment.folder().toString())
                        .replace("${port2}", Integer.toString(environment.port(1)))));
        environment.write("data/myid", Integer.toString(id));
        environment.write("zoo.cfg", String.join("\n", lines) + "\n");
    }

    private boolean isNative() {
        return builder.image == null || builder.network != null;
    }

    private List<String> command(ServerEnvironment environment) {
        List<String> command = new ArrayList<>();
        if (isNative()) {
            command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        } else {
            command.addAll(List.of("sh", "-c", IN_IMAGE, "zookeeper"));
        }
        command.addAll(List.of(
                "-Xmx128m",
                "-Xss512k",
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-XX:+UnlockDiagnosticVMOptions",
                "-XX:-BytecodeVerificationRemote", // starts sooner
                "-Xshare:auto",
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=info",
                "-Dzookeeper.forceSync=no",
                "-Dzookeeper.preAllocSize=64",
                "-Djute.maxbuffer=4194304"));
        builder.properties.forEach((key, value) -> command.add("-D" + key + "=" + value));
        if (isNative()) {
            command.addAll(builder.classes);
        }
        command.add("org.apache.zookeeper.server.quorum.QuorumPeerMain");
        command.add(environment.folder().resolve("zoo.cfg").toString());
        return command;
    }

    /** Describes a server or an ensemble. Not thread-safe. */
    public static final class Builder {
        private final List<String> classes;
        private final Map<String, String> config = new LinkedHashMap<>();
        private final Map<String, String> properties = new LinkedHashMap<>();
        private ServerProcess.Step prepare = environment -> {};
        private @Nullable ServerImage image = ServerImage.chosen("zookeeper").orElse(null);
        private @Nullable ServerNetwork network;
        private int servers = 1;
        private int tickMillis = 200;
        private int syncLimit = 25;

        private Builder(List<String> classes) {
            this.classes = List.copyOf(classes);
        }

        /**
         * Runs a given version in containers, without the class path of {@link #builder}.
         *
         * @param image of ZooKeeper, or null for this machine
         * @return this
         */
        public Builder image(@Nullable ServerImage image) {
            this.image = image;
            return this;
        }

        /**
         * How many servers; by default 1.
         *
         * @param servers 1, or an odd number for an ensemble
         * @return this
         */
        public Builder servers(int servers) {
            this.servers = servers;
            return this;
        }

        /**
         * Runs each server on a machine of its own.
         *
         * @param network has as many machines as there are servers, or null for the loopback address
         * @return this
         */
        public Builder network(@Nullable ServerNetwork network) {
            this.network = network;
            return this;
        }

        /**
         * The length of a tick in milliseconds; by default 200. A session lasts at least two ticks.
         *
         * @param tickMillis positive
         * @return this
         */
        public Builder tickMillis(int tickMillis) {
            this.tickMillis = tickMillis;
            return this;
        }

        /**
         * For how many ticks the servers of an ensemble may be silent towards each other; by default 25.
         *
         * @param syncLimit positive
         * @return this
         */
        public Builder syncLimit(int syncLimit) {
            this.syncLimit = syncLimit;
            return this;
        }

        /**
         * Adds a line to the configuration file of each server.
         *
         * @param key the setting
         * @param value its value, where <code>${folder}</code> is the server's folder and <code>${port2}</code> its second
         *     port
         * @return this
         */
        public Builder config(String key, String value) {
            config.put(key, value);
            return this;
        }

        /**
         * Sets a system property of each server.
         *
         * @param key such as {@code znode.container.checkIntervalMs}
         * @param value its value
         * @return this
         */
        public Builder property(String key, String value) {
            properties.put(key, value);
            return this;
        }

        /**
         * What to do in each server's folder before its first start; {@code data} exists.
         *
         * @param prepare the step
         * @return this
         */
        public Builder prepare(ServerProcess.Step prepare) {
            this.prepare = Objects.requireNonNull(prepare, "prepare");
            return this;
        }

        /**
         * Starts it and waits until every server serves clients.
         *
         * @return the running server or ensemble
         * @throws IOException if it does not get ready
         * @throws InterruptedException if interrupted while waiting
         */
        public ZooKeeperServer start() throws IOException, InterruptedException {
            ZooKeeperServer server = new ZooKeeperServer(this);
            try {
                server.launch();
                return server;
            } catch (IOException | InterruptedException | RuntimeException e) {
                server.close();
                throw e;
            }
        }
    }
}
