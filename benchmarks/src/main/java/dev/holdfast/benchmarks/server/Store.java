package dev.holdfast.benchmarks.server;

import java.io.IOException;
import java.util.List;
import java.util.Set;

/** A server of a run, with the durability that it has by default. For the use of one thread. */
public interface Store extends AutoCloseable {

    /** All stores, in the order in which they are measured. */
    List<String> NAMES = List.of("redis", "postgresql", "mariadb", "zookeeper", "etcd", "consul", "memcached");

    /**
     * The store's name.
     *
     * @return one of {@link #NAMES}
     */
    String name();

    /**
     * Name and version, for footnotes.
     *
     * @return for example {@code Redis 7.0.15}
     */
    String version();

    /**
     * Where it listens.
     *
     * @return an address for {@code LockClient.connect}
     */
    String address();

    /**
     * Counts what clients have asked for since some time in the past: commands, calls, packets or statements.
     *
     * @param plainCommands see {@code Candidate.plainCommands}
     * @return a number that only its differences give a sense
     * @throws IOException if the store does not answer
     */
    long commands(Set<String> plainCommands) throws IOException;

    /**
     * What {@link #commands} counts.
     *
     * @return a plural
     */
    String unit();

    @Override
    void close();

    /**
     * Starts a store.
     *
     * @param name one of {@link #NAMES}
     * @return the store, answering
     * @throws IOException if it does not start
     * @throws InterruptedException if interrupted
     */
    static Store start(String name) throws IOException, InterruptedException {
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
