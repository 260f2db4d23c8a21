package dev.holdfast.benchmarks.report;

import java.util.Locale;
import java.util.Map;

/** The words on a chart, for readers who do not know the names of scenarios, columns and candidates. */
final class ChartText {
    private static final Map<String, String> STORES = Map.of(
            "redis", "Redis",
            "postgresql", "PostgreSQL",
            "mariadb", "MariaDB",
            "zookeeper", "ZooKeeper",
            "consul", "Consul");

    private static final Map<String, String> SCENARIOS = Map.ofEntries(
            Map.entry("a", "one thread acquires and releases a free lock"),
            Map.entry("b", "16 threads, each with a lock of its own"),
            Map.entry("c", "16 threads of one process share one lock"),
            Map.entry("d", "four processes with four threads each share one lock"),
            Map.entry("ping-pong", "two processes share one lock, 5 ms of work, 5 ms of pause"),
            Map.entry("e", "a holder is killed, until the next one has the lock"),
            Map.entry("f", "one process holds many locks and renews them"),
            Map.entry("g", "many virtual threads wait for one lock"),
            Map.entry("read-write-1", "16 threads of one process, 95 % of acquisitions read"),
            Map.entry("read-write-4", "four processes with four threads, 95 % read"),
            Map.entry("semaphore-1", "16 threads of one process share four permits"),
            Map.entry("semaphore-4", "four processes with four threads share four permits"));

    private static final Map<Metric, String> METRICS = Map.of(
            Metric.OPS, "acquisitions per second",
            Metric.PAIR_P50, "median time of acquire and release, in microseconds",
            Metric.TAKE_OVER, "seconds",
            Metric.CPU, "milliseconds of processor time per second");

    private static final Map<String, String> CANDIDATES = Map.ofEntries(
            Map.entry("raw", "the bare client, no lock"),
            Map.entry("ref-blpop", "a bare BLPOP, no lock"),
            Map.entry("ref-advisory", "an advisory lock, no lease"),
            Map.entry("ref-get-lock", "GET_LOCK, no lease"),
            Map.entry("fair-reentrantlock", "fair ReentrantLock of one JVM"),
            Map.entry("holdfast", "Holdfast"),
            Map.entry("holdfast-fair", "Holdfast, fair"),
            Map.entry("holdfast-row-lock", "Holdfast, row lock"),
            Map.entry("holdfast-unique-index", "Holdfast, unique index"),
            Map.entry("holdfast-single-key", "Holdfast, single key"),
            Map.entry("curator-mutex", "Curator, a mutex a thread"),
            Map.entry("curator-mutex-shared", "Curator, a shared mutex"),
            Map.entry("curator-readwrite", "Curator read-write lock"),
            Map.entry("curator-semaphore", "Curator semaphore mutex"),
            Map.entry("curator-semaphore-v2", "Curator semaphore"),
            Map.entry("jetcd-lock", "jetcd lock"),
            Map.entry("redisson-rlock", "Redisson RLock"),
            Map.entry("redisson-fair", "Redisson fair lock"),
            Map.entry("redisson-spin", "Redisson spin lock"),
            Map.entry("redisson-rreadwritelock", "Redisson RReadWriteLock"),
            Map.entry("redisson-rpermitexpirable", "Redisson semaphore"),
            Map.entry("shedlock", "ShedLock"),
            Map.entry("spring", "Spring Integration"),
            Map.entry("spring-pubsub", "Spring Integration, pub/sub"),
            Map.entry("spring-spin", "Spring Integration, spin"));

    private ChartText() {}

    static String title(String store, ResultFiles.Part part) {
        return STORES.getOrDefault(store, store) + ": " + SCENARIOS.getOrDefault(part.id(), part.title());
    }

    static String unit(Metric metric) {
        return METRICS.getOrDefault(metric, metric.title())
                + (metric.moreIsBetter() ? "; longer bars are better" : "; shorter bars are better");
    }

    /** A candidate's name; one without a better name, such as an earlier version of ours, is shown as it is. */
    static String candidate(String name) {
        return CANDIDATES.getOrDefault(name.toLowerCase(Locale.ROOT), name);
    }
}
