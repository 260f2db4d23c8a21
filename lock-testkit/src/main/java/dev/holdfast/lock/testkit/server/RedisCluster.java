package dev.holdfast.lock.testkit.server;

import dev.holdfast.lock.testkit.server.network.ServerNetwork;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** A cluster of Redis servers: three masters that share the slots, each with a replica. Not thread-safe. */
public final class RedisCluster implements AutoCloseable {
    private static final int MASTERS = 3;
    private static final int SLOTS = 16_384;
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final List<RedisServer> nodes = new ArrayList<>();

    private RedisCluster() {}

    /**
     * Starts a cluster and waits until every node has joined and every master has its replica.
     *
     * @param replicas whether each master has a replica
     * @param options command line options of each node after the defaults, such as {@code --appendonly yes}
     * @return the cluster
     * @throws IOException if it does not start
     * @throws InterruptedException if interrupted
     */
    public static RedisCluster start(boolean replicas, String... options) throws IOException, InterruptedException {
        RedisCluster cluster = new RedisCluster();
        try {
            cluster.form(replicas, options);
            return cluster;
        } catch (IOException | InterruptedException | RuntimeException e) {
            cluster.close();
            throw e;
        }
    }

    /**
     * Starts a cluster of three masters and three replicas that can be cut off from each other.
     *
     * @param network has six machines
     * @param options as above
     * @return the cluster; to be closed before the network
     * @throws IOException if it does not start
     * @throws InterruptedException if interrupted
     */
    public static RedisCluster start(ServerNetwork network, String... options)
            throws IOException, InterruptedException {
        RedisCluster cluster = new RedisCluster();
        try {
            for (int i = 0; i < 2 * MASTERS; i++) {
                cluster.nodes.add(RedisServer.startClusterNodeOn(network.machine(i), options));
            }
            cluster.join();
            return cluster;
        } catch (IOException | InterruptedException | RuntimeException e) {
            cluster.close();
            throw e;
        }
    }

    private void form(boolean replicas, String... options) throws IOException, InterruptedException {
        for (int i = 0; i < (replicas ? 2 * MASTERS : MASTERS); i++) {
            nodes.add(RedisServer.startClusterNode(options));
        }
        join();
    }

    private void join() throws IOException, InterruptedException {
        int size = nodes.size();
        for (int i = 0; i < size; i++) {
            RedisServer node = nodes.get(i);
            node.command("CLUSTER", "SET-CONFIG-EPOCH", "" + (i + 1));
            if (i < MASTERS) {
                int from = SLOTS * i / MASTERS;
                int to = SLOTS * (i + 1) / MASTERS - 1;
                node.command("CLUSTER", "ADDSLOTSRANGE", "" + from, "" + to);
            }
            for (RedisServer other : nodes.subList(0, i)) {
                node.command("CLUSTER", "MEET", other.host(), "" + other.port(), "" + other.busPort());
            }
        }
        for (RedisServer node : nodes) {
            await("all nodes met", () -> lines(node, "connected") == size);
        }
        for (int i = MASTERS; i < size; i++) {
            RedisServer replica = nodes.get(i);
            replica.command("CLUSTER", "REPLICATE", id(nodes.get(i - MASTERS)));
            await("replica in step", () -> info(replica, "replication").contains("master_link_status:up"));
        }
        for (RedisServer node : nodes) {
            await(
                    "cluster in order",
                    () -> String.valueOf(node.command("CLUSTER", "INFO")).contains("cluster_state:ok")
                            && lines(node, " slave ") == size - MASTERS);
        }
    }

    /**
     * All nodes, the three masters of the beginning first.
     *
     * @return the nodes
     */
    public List<RedisServer> nodes() {
        return List.copyOf(nodes);
    }

    /**
     * Asks a node that is alive which node has a slot.
     *
     * @param slot from 0 to 16383
     * @return the slot's master
     * @throws IOException if no server can be asked
     */
    public RedisServer master(int slot) throws IOException {
        for (RedisServer node : nodes) {
            if (!node.process().isAlive()) {
                continue;
            }
            for (Object range : node.list("CLUSTER", "SLOTS")) {
                List<?> parts = (List<?>) range;
                if ((Long) parts.get(0) <= slot && slot <= (Long) parts.get(1)) {
                    long port = (Long) ((List<?>) parts.get(2)).get(1);
                    return nodes.stream()
                            .filter(each -> each.port() == port)
                            .findFirst()
                            .orElseThrow();
                }
            }
        }
        throw new IOException("no node knows slot " + slot);
    }

    /**
     * Moves a slot with its keys to another master.
     *
     * @param slot from 0 to 16383
     * @param target its new master
     * @throws IOException if a node refuses
     */
    public void move(int slot, RedisServer target) throws IOException {
        RedisServer source = master(slot);
        beginMove(slot, target);
        for (Object key : source.list("CLUSTER", "GETKEYSINSLOT", "" + slot, "1000")) {
            source.command("MIGRATE", target.host(), "" + target.port(), String.valueOf(key), "0", "5000");
        }
        endMove(slot, source, target);
    }

    /**
     * Begins to move a slot: until the end, its keys may be with either node.
     *
     * @param slot from 0 to 16383
     * @param target its new master
     * @throws IOException if a node refuses
     */
    public void beginMove(int slot, RedisServer target) throws IOException {
        RedisServer source = master(slot);
        target.command("CLUSTER", "SETSLOT", "" + slot, "IMPORTING", id(source));
        source.command("CLUSTER", "SETSLOT", "" + slot, "MIGRATING", id(target));
    }

    /**
     * Ends the move of a slot whose keys are all with its new master.
     *
     * @param slot from 0 to 16383
     * @param source its old master
     * @param target its new master
     * @throws IOException if a node refuses
     */
    public void endMove(int slot, RedisServer source, RedisServer target) throws IOException {
        target.command("CLUSTER", "SETSLOT", "" + slot, "NODE", id(target));
        source.command("CLUSTER", "SETSLOT", "" + slot, "NODE", id(target));
    }

    private static String id(RedisServer node) throws IOException {
        return String.valueOf(node.command("CLUSTER", "MYID"));
    }

    private static long lines(RedisServer node, String what) throws IOException {
        return String.valueOf(node.command("CLUSTER", "NODES"))
                .lines()
                .filter(line -> line.contains(what) || line.contains(what.replace(" slave ", ",slave ")))
                .filter(line -> !line.contains("disconnected") && !line.contains("handshake"))
                .count();
    }

    private static String info(RedisServer node, String section) throws IOException {
        return String.valueOf(node.command("INFO", section));
    }

    /** Something that becomes true. */
    private interface Condition {
        boolean holds() throws IOException;
    }

    private static void await(String what, Condition condition) throws IOException, InterruptedException {
        long start = System.nanoTime();
        while (!condition.holds()) {
            if (System.nanoTime() - start > PATIENCE.toNanos()) {
                throw new IOException("redis cluster: not so within " + PATIENCE + ": " + what);
            }
            Thread.sleep(50);
        }
    }

    @Override
    public void close() {
        nodes.forEach(RedisServer::close);
    }
}
