package dev.holdfast.chaos.cluster;

import dev.holdfast.lock.testkit.server.RedisCluster;
import dev.holdfast.lock.testkit.server.RedisServer;
import dev.holdfast.lock.testkit.server.network.ServerNetwork;
import dev.holdfast.lock.testkit.server.process.ServerProcess;
import io.lettuce.core.cluster.SlotHash;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Three Redis masters that share the slots, each with a replica. A server that was killed comes back as what the others
 * take it for. Clients get the servers' own addresses from the servers, and reach them through their proxies.
 */
final class RedisSlots implements Cluster {
    private static final long PATIENCE_NANOS = 60_000_000_000L;

    private final RedisCluster cluster;
    private final @Nullable ServerNetwork network;
    private final List<RedisServer> servers;
    private final Set<RedisServer> away = ConcurrentHashMap.newKeySet();
    private final Map<RedisServer, String> ids = new HashMap<>();
    private final String version;

    private RedisSlots(RedisCluster cluster, @Nullable ServerNetwork network) throws IOException {
        this.cluster = cluster;
        this.network = network;
        this.servers = cluster.nodes();
        this.version = servers.get(0).version();
        for (RedisServer server : servers) {
            ids.put(server, String.valueOf(server.command("CLUSTER", "MYID")));
        }
    }

    static RedisSlots start(@Nullable ServerNetwork network) throws IOException, InterruptedException {
        String[] options = {"--appendonly", "yes", "--appendfsync", "always"};
        RedisCluster cluster =
                network == null ? RedisCluster.start(true, options) : RedisCluster.start(network, options);
        try {
            return new RedisSlots(cluster, network);
        } catch (IOException | RuntimeException e) {
            cluster.close();
            throw e;
        }
    }

    @Override
    public String description() {
        return "Redis " + version + ", cluster of 3 masters and 3 replicas, no WAIT";
    }

    @Override
    public List<Node> nodes() {
        return servers.stream().<Node>map(Watched::new).toList();
    }

    @Override
    public String store(List<Integer> ports) {
        StringBuilder store = new StringBuilder("cluster+redis://127.0.0.1:");
        store.append(servers.stream().map(server -> "" + server.port()).collect(Collectors.joining(",")));
        for (int i = 0; i < ports.size(); i++) {
            store.append("+").append(servers.get(i).port()).append("=").append(ports.get(i));
        }
        return store.toString();
    }

    @Override
    public Optional<ServerNetwork> network() {
        return Optional.ofNullable(network);
    }

    /** A master that has locks. */
    @Override
    public int leader() {
        try {
            return indexOf(master(slot("chaos/0")));
        } catch (IOException e) {
            return 0;
        }
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
    public Optional<Move> move(String lock, int choice) throws IOException {
        int slot = slot(lock);
        RedisServer source = master(slot);
        List<RedisServer> others = servers.stream()
                .filter(server -> server != source && !away.contains(server) && isMaster(server))
                .toList();
        return away.contains(source) || others.isEmpty()
                ? Optional.empty()
                : Optional.of(new SlotMove(this, slot, source, others.get(choice % others.size())));
    }

    private static int slot(String lock) {
        return SlotHash.getSlot("{" + lock.replace("/", "%2F") + "}");
    }

    private static boolean isMaster(RedisServer server) {
        try {
            return String.valueOf(server.command("INFO", "replication")).contains("role:master")
                    && String.valueOf(server.command("CLUSTER", "INFO")).contains("cluster_state:ok");
        } catch (IOException e) {
            return false;
        }
    }

    int indexOf(RedisServer server) {
        return servers.indexOf(server);
    }

    String id(RedisServer server) {
        return ids.getOrDefault(server, "");
    }

    /** Which server most of those that answer take for the slot's master. */
    RedisServer master(int slot) throws IOException {
        Map<RedisServer, Integer> votes = new HashMap<>();
        for (RedisServer server : servers) {
            if (!away.contains(server)) {
                masterAsSeenBy(server, slot).ifPresent(master -> votes.merge(master, 1, Integer::sum));
            }
        }
        return votes.entrySet().stream()
                .max(Map.Entry.comparingByValue())
                .map(Map.Entry::getKey)
                .orElseThrow(() -> new IOException("no server knows slot " + slot));
    }

    private Optional<RedisServer> masterAsSeenBy(RedisServer server, int slot) {
        try {
            for (Object range : server.list("CLUSTER", "SLOTS")) {
                List<?> parts = (List<?>) range;
                if ((Long) parts.get(0) <= slot && slot <= (Long) parts.get(1)) {
                    long port = (Long) ((List<?>) parts.get(2)).get(1);
                    return servers.stream().filter(each -> each.port() == port).findFirst();
                }
            }
        } catch (IOException e) {
            // The others may answer.
        }
        return Optional.empty();
    }

    @Override
    public void awaitHealthy() throws InterruptedException {
        long start = System.nanoTime();
        while (!healthy()) {
            if (System.nanoTime() - start > PATIENCE_NANOS) {
                throw new IllegalStateException("the cluster is not complete after a minute");
            }
            Thread.sleep(100);
        }
    }

    private boolean healthy() {
        try {
            boolean complete = true;
            for (RedisServer server : servers) {
                String replication = String.valueOf(server.command("INFO", "replication"));
                String nodes = String.valueOf(server.command("CLUSTER", "NODES"));
                complete &= String.valueOf(server.command("CLUSTER", "INFO")).contains("cluster_state:ok")
                        && (replication.contains("role:master") || replication.contains("master_link_status:up"))
                        && !nodes.contains("fail")
                        && !nodes.contains("->-");
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
        cluster.close();
        if (network != null) {
            network.close();
        }
    }

    /** Remembers whether its server can be asked. */
    private final class Watched implements Node {
        private final RedisServer server;

        Watched(RedisServer server) {
            this.server = server;
        }

        @Override
        public ServerProcess process() {
            return server.process();
        }

        @Override
        public void pause() {
            away.add(server);
            process().pause();
        }

        @Override
        public void resume() {
            process().resume();
            away.remove(server);
        }

        @Override
        public void kill() throws InterruptedException {
            away.add(server);
            process().kill();
        }

        @Override
        public void start() throws IOException, InterruptedException {
            process().start();
            away.remove(server);
        }
    }
}
