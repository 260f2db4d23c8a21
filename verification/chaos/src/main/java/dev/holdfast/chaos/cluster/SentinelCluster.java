package dev.holdfast.chaos.cluster;

import dev.holdfast.lock.testkit.server.RedisServer;
import dev.holdfast.lock.testkit.server.network.ServerNetwork;
import dev.holdfast.lock.testkit.server.process.ServerProcess;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A master, two replicas and three Sentinels. Clients ask the Sentinels themselves and reach the servers through their
 * proxies. A server that was killed comes back as a replica of the master of that time, and no client reaches it before.
 */
final class SentinelCluster implements Cluster {
    private static final String GROUP = "locks";
    private static final long PATIENCE_NANOS = 60_000_000_000L;

    private final List<RedisServer> servers = new ArrayList<>();
    private final List<RedisServer> sentinels = new ArrayList<>();
    private final @Nullable ServerNetwork network;
    private String version = "";

    private SentinelCluster(@Nullable ServerNetwork network) {
        this.network = network;
    }

    static SentinelCluster start(@Nullable ServerNetwork network) throws IOException, InterruptedException {
        SentinelCluster cluster = new SentinelCluster(network);
        try {
            cluster.launch();
            return cluster;
        } catch (IOException | InterruptedException | RuntimeException e) {
            cluster.close();
            throw e;
        }
    }

    private void launch() throws IOException, InterruptedException {
        for (int i = 0; i < 3; i++) {
            String[] options = {"--appendonly", "yes", "--appendfsync", "always"};
            servers.add(
                    network == null ? RedisServer.start(options) : RedisServer.startOn(network.machine(i), options));
        }
        RedisServer master = servers.get(0);
        version = master.version();
        for (RedisServer replica : servers.subList(1, 3)) {
            replica.command("REPLICAOF", master.host(), "" + master.port());
        }
        for (int i = 0; i < 3; i++) {
            sentinels.add(
                    network == null
                            ? RedisServer.startSentinel(GROUP, master, 2)
                            : RedisServer.startSentinelOn(network.machine(i), GROUP, master, 2));
        }
        awaitHealthy();
    }

    @Override
    public String description() {
        return "Redis " + version + ", master, 2 replicas and 3 Sentinels, no WAIT";
    }

    @Override
    public List<Node> nodes() {
        List<Node> nodes = new ArrayList<>();
        for (RedisServer server : servers) {
            nodes.add(new Rejoining(server));
        }
        return nodes;
    }

    @Override
    public String store(List<Integer> ports) {
        StringBuilder store = new StringBuilder("sentinel+redis-sentinel://");
        for (int i = 0; i < sentinels.size(); i++) {
            store.append(i == 0 ? "" : ",")
                    .append(sentinels.get(i).host())
                    .append(":")
                    .append(sentinels.get(i).port());
        }
        store.append("#").append(GROUP);
        for (int i = 0; i < ports.size(); i++) {
            store.append("+").append(servers.get(i).port()).append("=").append(ports.get(i));
        }
        return store.toString();
    }

    @Override
    public int leader() {
        int port = masterPort();
        for (int i = 0; i < servers.size(); i++) {
            if (servers.get(i).port() == port) {
                return i;
            }
        }
        return 0;
    }

    @Override
    public boolean fair() {
        return true;
    }

    @Override
    public boolean exclusive() {
        return false;
    }

    @Override
    public Optional<ServerNetwork> network() {
        return Optional.ofNullable(network);
    }

    /** What most Sentinels answer; 0 if none answers. */
    private int masterPort() {
        Map<Integer, Integer> votes = new HashMap<>();
        for (RedisServer sentinel : sentinels) {
            try {
                List<?> address = sentinel.list("SENTINEL", "GET-MASTER-ADDR-BY-NAME", GROUP);
                votes.merge(Integer.parseInt(String.valueOf(address.get(1))), 1, Integer::sum);
            } catch (IOException | RuntimeException e) {
                // The others may answer.
            }
        }
        return votes.entrySet().stream()
                .max(Map.Entry.comparingByValue())
                .map(Map.Entry::getKey)
                .orElse(0);
    }

    @Override
    public void awaitHealthy() throws InterruptedException {
        long start = System.nanoTime();
        while (!healthy()) {
            if (System.nanoTime() - start > PATIENCE_NANOS) {
                throw new IllegalStateException("the group of Redis servers is not complete after a minute");
            }
            Thread.sleep(100);
        }
    }

    private boolean healthy() {
        try {
            RedisServer master = servers.get(leader());
            String replication = String.valueOf(master.command("INFO", "replication"));
            boolean complete = replication.contains("role:master") && replication.split("state=online").length == 3;
            for (RedisServer sentinel : sentinels) {
                complete &= sentinel.list("SENTINEL", "SENTINELS", GROUP).size() == 2
                        && sentinel.list("SENTINEL", "REPLICAS", GROUP).size() == 2;
            }
            return complete;
        } catch (IOException e) {
            return false;
        }
    }

    @Override
    public RawWrite rawWrite(int port) throws IOException {
        return RawWrites.redis(port);
    }

    @Override
    public void close() {
        sentinels.forEach(RedisServer::close);
        servers.forEach(RedisServer::close);
        if (network != null) {
            network.close();
        }
    }

    /** Restarted as a replica, as an operator would. */
    private final class Rejoining implements Node {
        private final RedisServer server;

        Rejoining(RedisServer server) {
            this.server = server;
        }

        @Override
        public ServerProcess process() {
            return server.process();
        }

        @Override
        public void start() throws IOException, InterruptedException {
            long start = System.nanoTime();
            while (masterPort() == server.port() && System.nanoTime() - start < PATIENCE_NANOS) {
                Thread.sleep(100);
            }
            process().start();
            int master = masterPort();
            if (master != 0 && master != server.port()) {
                server.command("REPLICAOF", servers.get(leader()).host(), "" + master);
            }
        }
    }
}
