package dev.holdfast.chaos.fault;

import java.util.EnumMap;
import java.util.Map;

/**
 * What a run is made of.
 *
 * @param clients processes
 * @param threads workers of each
 * @param names locks
 * @param fifoNames how many of them have one thread a client that waits in order
 * @param leaseMillis the lease
 * @param weights how often each kind of fault is drawn
 * @param pauseMillis the longest time between two faults
 * @param quietEvery after how many faults there is a longer quiet
 * @param longPercent how many of a hundred holds last about as long as a lease, or {@link #ONLY_SHORT_HOLDS}
 */
public record Profile(
        int clients,
        int threads,
        int names,
        int fifoNames,
        long leaseMillis,
        Map<FaultKind, Integer> weights,
        int pauseMillis,
        int quietEvery,
        int longPercent) {
    /** All faults that can happen on the store. */
    public static final String ALL = "all";

    /** Deaths and pauses of clients. */
    public static final String DEATHS = "deaths";

    /** None. */
    public static final String NO_FAULTS = "none";

    /** Of a hundred holds, unless more are asked for. */
    public static final int FEW_LONG_HOLDS = 3;

    /** Instead of a share of long holds: all holds are as short as can be, and no client rests between them. */
    public static final int ONLY_SHORT_HOLDS = -1;

    private static final int LONG_HOLDS = 15;

    /**
     * The run of issue and documentation: 6 processes of 8 threads on 20 names.
     *
     * @param leaseMillis the lease
     * @return all kinds of faults that can happen on every store
     */
    public static Profile full(long leaseMillis) {
        Map<FaultKind, Integer> weights = new EnumMap<>(FaultKind.class);
        for (FaultKind kind : FaultKind.values()) {
            weights.put(kind, 2);
        }
        weights.remove(FaultKind.SLOT_MOVE);
        weights.remove(FaultKind.NET_LATE_CUT);
        weights.keySet().removeIf(FaultKind::isDemanding);
        weights.put(FaultKind.CLIENT_STOP, 4);
        weights.put(FaultKind.CLIENT_KILL, 2);
        weights.put(FaultKind.NET_BLACK_HOLE, 3);
        weights.put(FaultKind.NET_LATENCY, 3);
        weights.put(FaultKind.NET_DROP_REPLIES, 3);
        weights.put(FaultKind.NET_LATE, 3);
        return new Profile(6, 8, 20, 2, leaseMillis, weights, 2_500, 5, FEW_LONG_HOLDS);
    }

    /**
     * The same on a store that can move what belongs to a lock.
     *
     * @return with moves, a fifth of all faults
     */
    public Profile withMoves() {
        Map<FaultKind, Integer> more = new EnumMap<>(weights);
        more.put(FaultKind.SLOT_MOVE, 8);
        return weighted(more, longPercent);
    }

    /**
     * The same work with a choice of faults.
     *
     * @param faults {@link #ALL}; {@link #DEATHS}: holders die or are paused, and many hold for long, for the checks of
     *     take-over and losses; {@link #NO_FAULTS}, for the checks that only judge what is undisturbed; or kinds, with
     *     commas
     * @return with those faults
     * @throws IllegalArgumentException if there is no such kind
     */
    public Profile with(String faults) {
        return switch (faults) {
            case ALL -> this;
            case DEATHS -> withDeaths();
            case NO_FAULTS -> weighted(Map.of(), longPercent);
            default -> {
                Map<FaultKind, Integer> chosen = new EnumMap<>(FaultKind.class);
                for (String kind : faults.split(",")) {
                    chosen.merge(FaultKind.valueOf(kind), 1, Integer::sum);
                }
                yield weighted(chosen, longPercent);
            }
        };
    }

    /**
     * The same with another share of long holds.
     *
     * @param percent how many of a hundred holds last about as long as a lease
     * @return the same faults
     */
    public Profile withLongHolds(int percent) {
        return weighted(weights, percent);
    }

    /**
     * The same on a store whose leader can be changed: then locks move, and what is late may find them elsewhere.
     *
     * @return with late requests of clients that are cut off, a third of all faults
     */
    public Profile withLateAndCutOff() {
        Map<FaultKind, Integer> more = new EnumMap<>(weights);
        more.put(FaultKind.NET_LATE_CUT, 16);
        return weighted(more, longPercent);
    }

    /**
     * The same on a store with servers that talk to each other.
     *
     * @return with cuts between them
     */
    public Profile withPeerCuts() {
        Map<FaultKind, Integer> more = new EnumMap<>(weights);
        more.put(FaultKind.PEER_CUT, 2);
        more.put(FaultKind.PEER_CUT_ONE_WAY, 2);
        return weighted(more, longPercent);
    }

    /**
     * The same on a store that forces what it writes to a disk.
     *
     * @return with disks that are slow for a while
     */
    public Profile withSlowDisks() {
        Map<FaultKind, Integer> more = new EnumMap<>(weights);
        more.put(FaultKind.SLOW_DISK, 2);
        return weighted(more, longPercent);
    }

    private Profile weighted(Map<FaultKind, Integer> chosen, int holds) {
        return new Profile(clients, threads, names, fifoNames, leaseMillis, chosen, pauseMillis, quietEvery, holds);
    }

    private Profile withDeaths() {
        Map<FaultKind, Integer> deaths = new EnumMap<>(Map.of(FaultKind.CLIENT_KILL, 3, FaultKind.CLIENT_STOP, 1));
        return weighted(deaths, longPercent == ONLY_SHORT_HOLDS ? longPercent : Math.max(LONG_HOLDS, longPercent));
    }

    /**
     * A smaller one.
     *
     * @param clients processes
     * @param threads workers of each
     * @param names locks
     * @return the same faults
     */
    public Profile sized(int clients, int threads, int names) {
        return new Profile(
                clients, threads, names, fifoNames, leaseMillis, weights, pauseMillis, quietEvery, longPercent);
    }

    /**
     * How long it is quiet now and then: long enough for leases to end and for waiters to be missed.
     *
     * @return milliseconds
     */
    public long quietMillis() {
        return 2 * leaseMillis + 3_000;
    }
}
