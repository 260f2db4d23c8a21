package dev.holdfast.benchmarks.server;

import java.io.IOException;
import java.util.List;

/** The stores that can be measured. */
public final class Stores {
    /** All of them, in the order in which they are measured. */
    public static final List<String> NAMES =
            List.of("redis", "postgresql", "mariadb", "zookeeper", "etcd", "consul", "memcached");

    private Stores() {}

    /**
     * Starts a store.
     *
     * @param name one of {@link #NAMES}
     * @return the store, answering
     * @throws IOException if it does not start
     * @throws InterruptedException if interrupted
     */
    public static Store start(String name) throws IOException, InterruptedException {
        return switch (name) {
            case "redis" -> RedisStore.start();
            case "postgresql" -> DatabaseStore.postgresql();
            case "mariadb" -> DatabaseStore.mariaDb();
            case "zookeeper" -> ZooKeeperStore.start();
            case "etcd" -> EtcdStore.start();
            case "consul" -> ConsulStore.start();
            case "memcached" -> MemcachedStore.start();
            default -> throw new IllegalArgumentException("no store '" + name + "'; there are " + NAMES);
        };
    }
}
