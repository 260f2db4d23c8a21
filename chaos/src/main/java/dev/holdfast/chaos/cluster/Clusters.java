package dev.holdfast.chaos.cluster;

import dev.holdfast.chaos.fault.Profile;
import java.io.IOException;
import java.util.List;

/** Starts clusters by name. */
public final class Clusters {
    /** What {@link #start} knows. */
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

    private Clusters() {}

    /**
     * Says which faults a cluster's full run has.
     *
     * @param name one of {@link #NAMES}
     * @param leaseMillis of the clients
     * @return all that can happen there
     */
    public static Profile profile(String name, long leaseMillis) {
        Profile full = Profile.full(leaseMillis);
        return switch (name) {
            case "redis-cluster" -> full.withMoves();
            case "etcd" -> full.withLateAndCutOff();
            default -> full;
        };
    }

    /**
     * Starts a cluster.
     *
     * @param name one of {@link #NAMES}
     * @param leaseMillis of the clients
     * @param mutant what is wrong with a memory server
     * @return the cluster, ready
     * @throws IOException if a server does not start
     * @throws InterruptedException if interrupted
     */
    public static Cluster start(String name, long leaseMillis, String mutant) throws IOException, InterruptedException {
        return switch (name) {
            case "memory" -> MemoryCluster.start(mutant);
            case "redis" -> SentinelCluster.start();
            case "redis-single" -> RedisMasters.start(1);
            case "redis-cluster" -> RedisSlots.start();
            case "redlock" -> RedisMasters.start(5);
            case "etcd" -> EtcdCluster.start();
            case "zookeeper" -> ZooKeeperCluster.start(leaseMillis);
            case "consul" -> ConsulCluster.start();
            case "memcached" -> MemcachedCluster.start();
            case "postgresql" -> DatabaseCluster.postgresql();
            case "mariadb" -> DatabaseCluster.mariadb();
            case "h2" -> DatabaseCluster.h2();
            default -> throw new IllegalArgumentException("no backend '" + name + "'; there are " + NAMES);
        };
    }
}
