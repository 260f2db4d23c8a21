package dev.holdfast.benchmarks.contender;

import java.util.List;

/** All contenders of each store. */
public final class Contenders {
    private Contenders() {}

    /**
     * The contenders on a store.
     *
     * @param store {@code redis} and so on
     * @return those that can be measured there, the floor first
     * @throws IllegalArgumentException if there is no such store
     */
    public static List<Contender> of(String store) {
        return switch (store) {
            case "redis" ->
                List.of(
                        new RedisRaw(),
                        Holdfast.defaults(),
                        Holdfast.fair(),
                        Redisson.lock(),
                        Redisson.fairLock(),
                        Redisson.spinLock(),
                        SpringRedis.pubSub(),
                        SpringRedis.spin(),
                        ShedLock.redis(),
                        new RedisToken(),
                        new LocalFairLock());
            case "postgresql" ->
                List.of(
                        new JdbcRaw(),
                        HoldfastJdbc.defaults(),
                        HoldfastJdbc.fair(),
                        HoldfastJdbc.uniqueIndex(),
                        HoldfastJdbc.rowLock(),
                        new SpringJdbc(true),
                        ShedLock.jdbc(),
                        SessionLock.postgresql(),
                        new LocalFairLock());
            case "mariadb" ->
                List.of(
                        new JdbcRaw(),
                        HoldfastJdbc.defaults(),
                        HoldfastJdbc.fair(),
                        HoldfastJdbc.uniqueIndex(),
                        HoldfastJdbc.rowLock(),
                        new SpringJdbc(false),
                        ShedLock.jdbc(),
                        SessionLock.mariaDb(),
                        new LocalFairLock());
            case "zookeeper" ->
                List.of(
                        new ZooKeeperRaw(),
                        Holdfast.defaults(),
                        Holdfast.fair(),
                        CuratorMutex.mutex(),
                        CuratorMutex.sharedMutex(),
                        CuratorMutex.semaphoreMutex(),
                        new SpringZooKeeper(),
                        new LocalFairLock());
            case "etcd" ->
                List.of(
                        new EtcdRaw(),
                        Holdfast.defaults(),
                        Holdfast.fair(),
                        Holdfast.variant("single-key", address -> address + "?mode=single-key&prefix=single/"),
                        new JetcdLock(),
                        new LocalFairLock());
            default -> throw new IllegalArgumentException("no store '" + store + "'");
        };
    }

    /**
     * Finds one contender.
     *
     * @param store {@code redis} and so on
     * @param name the contender's
     * @return the contender
     * @throws IllegalArgumentException if there is none
     */
    public static Contender find(String store, String name) {
        return of(store).stream()
                .filter(contender -> contender.name().equals(name))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("no contender '" + name + "' on " + store));
    }
}
