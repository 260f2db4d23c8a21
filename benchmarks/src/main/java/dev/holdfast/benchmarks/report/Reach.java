package dev.holdfast.benchmarks.report;

import dev.holdfast.benchmarks.candidate.Role;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.ToDoubleFunction;

/**
 * A figure that was aimed at before anything was measured.
 *
 * @param scenario its id
 * @param what the figure
 * @param atLeast whether the bound is a floor
 * @param bound the aim
 * @param figure takes it from the results; NaN if it was not measured
 */
public record Reach(String scenario, String what, boolean atLeast, double bound, ToDoubleFunction<Results> figure) {
    private static final String HOLDFAST = "holdfast";
    private static final String FAIR = "holdfast-fair";
    private static final Map<String, Double> PAIR =
            Map.of("redis", 1.12, "postgresql", 1.05, "mariadb", 1.08, "zookeeper", 1.15, "etcd", 1.05, "consul", 1.05);

    private static final String SESSION = "holdfast-session";
    private static final Map<String, Double> MANY_NAMES = Map.of("redis", 0.88, "mariadb", 0.85);

    /**
     * The aims for a store.
     *
     * @param store its name
     * @return all of them, also those of scenarios that did not run
     */
    public static List<Reach> of(String store) {
        List<Reach> all = new ArrayList<>();
        all.add(atMost("a", "pair p50 to raw", PAIR.getOrDefault(store, 1.05), toRaw(store, "a", Metric.PAIR_P50)));
        all.add(atLeast("b", "acq/s to raw", MANY_NAMES.getOrDefault(store, 0.9), toRaw(store, "b", Metric.OPS)));
        all.add(atLeast("c", "acq/s to the best peer", 15, toBestPeer(store, "c", HOLDFAST)));
        all.add(atLeast(
                "c",
                "acq/s to a fair ReentrantLock",
                0.7,
                results -> results.ratio(store, "c", HOLDFAST, "fair-reentrantlock", Metric.OPS)));
        all.add(atMost("c", "max/min per thread", 1.2, median(store, "c", HOLDFAST, Metric.THREAD_SPREAD)));
        all.add(atMost("c", "wait p99 ms", 2, median(store, "c", HOLDFAST, Metric.WAIT_P99)));
        all.add(atMost("c", "requests per acq", 0.1, median(store, "c", HOLDFAST, Metric.COMMANDS)));
        all.add(atLeast("c", "fair: acq/s to the best peer", 2, toBestPeer(store, "c", FAIR)));
        if (store.equals("redis")) {
            all.add(atMost("c", "fair: commands per acq", 2.0, median(store, "c", FAIR, Metric.COMMANDS)));
        }
        all.add(atLeast("d", "acq/s to the best peer", 4, toBestPeer(store, "d", HOLDFAST)));
        all.add(atMost(
                "d",
                "longest wait ms",
                store.equals("postgresql") ? 80 : 100,
                median(store, "d", HOLDFAST, Metric.LONGEST_WAIT)));
        all.add(atMost("d", "max/min per process", 2, median(store, "d", HOLDFAST, Metric.PROCESS_SPREAD)));
        all.add(atLeast("ping-pong", "acq/s, best of the strategies", 175, bestOfOurs(store, "ping-pong", Metric.OPS)));
        all.addAll(handedOver(store));
        if (store.equals("redis") || store.equals("zookeeper")) { // the others have no peers with these locks
            all.add(atLeast("read-write-1", "acq/s to the best peer", 10, toBestPeer(store, "read-write-1", HOLDFAST)));
            all.add(atLeast("read-write-4", "acq/s to the best peer", 3, toBestPeer(store, "read-write-4", HOLDFAST)));
        }
        all.add(atMost("e", "kill to grant s", 15.5, median(store, "e", HOLDFAST, Metric.TAKE_OVER)));
        if (store.equals("postgresql") || store.equals("mariadb")) {
            all.add(atMost(
                    "e", "kill to grant s, row-lock", 0.1, median(store, "e", "holdfast-row-lock", Metric.TAKE_OVER)));
            all.addAll(ofSession(store));
        }
        return all;
    }

    /** The aims of the databases' strategy SESSION, next to the raw statements and to the lock that it builds on. */
    private static List<Reach> ofSession(String store) {
        String bare = store.equals("postgresql") ? "ref-advisory" : "ref-get-lock";
        return List.of(
                atMost("a", "pair p50 to raw, session", 0.45, session(store, "a", "raw", Metric.PAIR_P50)),
                atLeast("b", "acq/s to raw, session", 2, session(store, "b", "raw", Metric.OPS)),
                atLeast(
                        "ping-pong",
                        "acq/s to the bare lock, session",
                        0.97,
                        session(store, "ping-pong", bare, Metric.OPS)),
                atMost(
                        "ping-pong",
                        "hand-off p50 to the bare lock, session",
                        1.5,
                        session(store, "ping-pong", bare, Metric.HANDOFF_P50)),
                atMost("e", "kill to grant s, session", 0.1, median(store, "e", SESSION, Metric.TAKE_OVER)));
    }

    private static ToDoubleFunction<Results> session(String store, String scenario, String other, Metric metric) {
        return results -> results.ratio(store, scenario, SESSION, other, metric);
    }

    /** The metrics of one store about passing a lock between processes. */
    private static List<Reach> handedOver(String store) {
        ToDoubleFunction<Results> pingPong = median(store, "ping-pong", HOLDFAST, Metric.OPS);
        ToDoubleFunction<Results> handOver = median(store, "ping-pong", HOLDFAST, Metric.HANDOFF_P50);
        return switch (store) {
            case "redis" ->
                List.of(
                        atMost("a", "server µs per acq", 10, median(store, "a", HOLDFAST, Metric.SERVER_MICROS)),
                        atMost("d", "hand-off p50 µs", 350, median(store, "d", HOLDFAST, Metric.HANDOFF_P50)),
                        atLeast("d", "fair: acq/s to BLPOP", 0.6, toToken("d", FAIR, Metric.OPS)),
                        atLeast("ping-pong", "acq/s to BLPOP", 0.97, toToken("ping-pong", HOLDFAST, Metric.OPS)),
                        atMost(
                                "ping-pong",
                                "hand-off p50 to BLPOP",
                                1.3,
                                toToken("ping-pong", HOLDFAST, Metric.HANDOFF_P50)));
            case "etcd" ->
                List.of(
                        atLeast("d", "fair: acq/s", 400, median(store, "d", FAIR, Metric.OPS)),
                        atLeast("ping-pong", "acq/s", 150, pingPong),
                        atMost("ping-pong", "hand-off p50 µs", 1_600, handOver));
            case "zookeeper" ->
                List.of(atLeast("ping-pong", "acq/s to the best peer", 1, toBestPeer(store, "ping-pong", HOLDFAST)));
            case "postgresql" -> List.of(atLeast("ping-pong", "acq/s", 165, pingPong));
            case "mariadb" -> List.of(atLeast("ping-pong", "acq/s", 140, pingPong));
            default -> List.of();
        };
    }

    private static ToDoubleFunction<Results> toToken(String scenario, String candidate, Metric metric) {
        return results -> results.ratio("redis", scenario, candidate, "ref-blpop", metric);
    }

    /**
     * Says how it went.
     *
     * @param results of the run
     * @return such as {@code met}, {@code missed by 12 %} or {@code not measured}
     */
    public String verdict(Results results) {
        double value = figure.applyAsDouble(results);
        if (Double.isNaN(value)) {
            return "not measured";
        }
        if (atLeast ? value >= bound : value <= bound) {
            return "met";
        }
        double by = atLeast ? 1 - value / bound : value / bound - 1;
        return String.format(Locale.ROOT, "missed by %.0f %%", Math.ceil(100 * by));
    }

    private static Reach atMost(String scenario, String what, double bound, ToDoubleFunction<Results> figure) {
        return new Reach(scenario, what, false, bound, figure);
    }

    private static Reach atLeast(String scenario, String what, double bound, ToDoubleFunction<Results> figure) {
        return new Reach(scenario, what, true, bound, figure);
    }

    private static ToDoubleFunction<Results> toRaw(String store, String scenario, Metric metric) {
        return results -> results.ratio(store, scenario, HOLDFAST, "raw", metric);
    }

    private static ToDoubleFunction<Results> toBestPeer(String store, String scenario, String candidate) {
        return results -> results.best(store, scenario, Role.PEER, Metric.OPS)
                .map(peer -> results.ratio(store, scenario, candidate, peer, Metric.OPS))
                .orElse(Double.NaN);
    }

    private static ToDoubleFunction<Results> median(String store, String scenario, String candidate, Metric metric) {
        return results -> results.median(store, scenario, candidate, metric);
    }

    private static ToDoubleFunction<Results> bestOfOurs(String store, String scenario, Metric metric) {
        return results -> results.best(store, scenario, Role.HOLDFAST, metric)
                .map(ours -> results.median(store, scenario, ours, metric))
                .orElse(Double.NaN);
    }
}
