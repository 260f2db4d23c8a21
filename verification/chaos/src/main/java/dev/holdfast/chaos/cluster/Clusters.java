package dev.holdfast.chaos.cluster;

import dev.holdfast.chaos.fault.FaultKind;
import dev.holdfast.chaos.fault.Profile;
import dev.holdfast.lock.testkit.server.network.ServerNetwork;
import dev.holdfast.lock.testkit.server.process.SlowDisk;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Starts clusters by name. */
public final class Clusters {
    /** What {@link #start} has collected. */
    public static final List<String> NAMES = List.of(
            "memory",
            "redis",
            "redis-single",
            "redis-cluster",
            "redlock",
            "etcd",
            "zookeeper",
            "consul",
            "memcached",
            "postgresql",
            "mariadb",
            "h2");

    /** Other strategies on a database, which {@code --all} does not run; {@code --strategy} chooses them. */
    public static final List<String> STRATEGIES =
            List.of("postgresql-session", "mariadb-session", "postgresql-row-lock", "mariadb-row-lock");

    /** How many machines those clusters have whose servers can be cut off from each other. */
    private static final Map<String, Integer> MACHINES =
            Map.of("redis", 3, "redis-cluster", 6, "etcd", 3, "zookeeper", 3, "consul", 3);

    /** Those that force nothing to a disk. */
    private static final Set<String> DISKLESS = Set.of("memory", "memcached");

    private Clusters() {}

    /**
     * Says which faults a cluster's full run has, on a machine with all that they take.
     *
     * @param name one of {@link #NAMES}
     * @param leaseMillis of the clients
     * @return all that can happen there
     */
    public static Profile profile(String name, long leaseMillis) {
        Profile full = Profile.full(leaseMillis);
        if (MACHINES.containsKey(name)) {
            full = full.withPeerCuts();
        }
        if (!DISKLESS.contains(name)) {
            full = full.withSlowDisks();
        }
        return switch (name) {
            case "redis-cluster" -> full.withMoves();
            case "etcd" -> full.withLateAndCutOff();
            default -> full;
        };
    }

    /**
     * Tells why a kind of fault cannot be, with these servers or on this machine.
     *
     * @param kind what is to happen
     * @param name one of {@link #NAMES}
     * @return the reason for people; empty if it can be
     */
    public static Optional<String> whyNot(FaultKind kind, String name) {
        if (kind.isBetweenServers()) {
            return MACHINES.containsKey(name)
                    ? ServerNetwork.missing().map(why -> "servers cannot be cut off from each other: " + why)
                    : Optional.of("the servers of " + name
                            + " cannot be cut off from each other: they are not run on machines of their own");
        }
        if (kind == FaultKind.SLOW_DISK) {
            return DISKLESS.contains(name)
                    ? Optional.of(name + " has no disk that could be slow")
                    : SlowDisk.missing().map(why -> "no disk can be slow: " + why);
        }
        return Optional.empty();
    }

    /**
     * Starts a cluster.
     *
     * @param name one of {@link #NAMES}
     * @param leaseMillis of the clients
     * @param mutant what is wrong with a memory server
     * @param peerCuts whether the servers are cut off from each other
     * @return the cluster, ready
     * @throws IOException if a server does not start
     * @throws InterruptedException if interrupted
     */
    public static Cluster start(String name, long leaseMillis, String mutant, boolean peerCuts)
            throws IOException, InterruptedException {
        if (!peerCuts) {
            return start(name, leaseMillis, mutant, null);
        }
        ServerNetwork network = ServerNetwork.start(MACHINES.getOrDefault(name, 1));
        try {
            return start(name, leaseMillis, mutant, network);
        } catch (IOException | InterruptedException | RuntimeException e) {
            network.close();
            throw e;
        }
    }

    private static Cluster start(String name, long leaseMillis, String mutant, @Nullable ServerNetwork network)
            throws IOException, InterruptedException {
        return switch (name) {
            case "memory" -> MemoryCluster.start(mutant);
            case "redis" -> SentinelCluster.start(network);
            case "redis-single" -> RedisMasters.start(1);
            case "redis-cluster" -> RedisSlots.start(network);
            case "redlock" -> RedisMasters.start(5);
            case "etcd" -> EtcdCluster.start(network);
            case "zookeeper" -> ZooKeeperCluster.start(leaseMillis, network);
            case "consul" -> ConsulCluster.start(network);
            case "memcached" -> MemcachedCluster.start();
            case "postgresql" -> DatabaseCluster.postgresql("version");
            case "postgresql-session" -> DatabaseCluster.postgresql("session");
            case "postgresql-row-lock" -> DatabaseCluster.postgresql("row-lock");
            case "mariadb" -> DatabaseCluster.mariadb("version");
            case "mariadb-session" -> DatabaseCluster.mariadb("session");
            case "mariadb-row-lock" -> DatabaseCluster.mariadb("row-lock");
            case "h2" -> DatabaseCluster.h2();
            default -> throw new IllegalArgumentException("no backend '" + name + "'; there are " + NAMES);
        };
    }
}
