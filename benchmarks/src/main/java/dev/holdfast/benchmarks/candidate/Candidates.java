package dev.holdfast.benchmarks.candidate;

import java.util.List;

/** All candidates of each store. */
public final class Candidates {
    private Candidates() {}

    /**
     * The candidates on a store.
     *
     * @param store {@code redis} and so on
     * @return those that can be measured there, the floor first
     * @throws IllegalArgumentException if there is no such store
     */
    public static List<Candidate> of(String store) {
        return switch (store) {
            case "redis" ->
                List.of(
                        new RedisRaw(),
                        Holdfast.defaults(),
                        Holdfast.fair(),
                        Redisson.lock(),
                        Redisson.fairLock(),
                        Redisson.spinLock(),
                        new RedissonReadWrite(),
                        new RedissonSemaphore(),
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
                        HoldfastJdbc.session(),
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
                        HoldfastJdbc.session(),
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
                        new CuratorReadWrite(),
                        new CuratorSemaphore(),
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
            case "consul" -> List.of(new ConsulRaw(), Holdfast.defaults(Primitive.LOCK), new LocalFairLock());
            case "memcached" -> List.of(new MemcachedRaw(), Holdfast.defaults(Primitive.LOCK), new LocalFairLock());
            default -> throw new IllegalArgumentException("no store '" + store + "'");
        };
    }

    /**
     * Finds one candidate.
     *
     * @param store {@code redis} and so on
     * @param name the candidate's
     * @return the candidate
     * @throws IllegalArgumentException if there is none
     */
    public static Candidate find(String store, String name) {
        return of(store).stream()
                .filter(candidate -> candidate.name().equals(name))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("no candidate '" + name + "' on " + store));
    }
}
