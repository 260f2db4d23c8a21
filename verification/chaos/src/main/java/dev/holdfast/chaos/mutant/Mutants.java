package dev.holdfast.chaos.mutant;

import dev.holdfast.broken.BrokenBackends;
import dev.holdfast.broken.BrokenClients;
import dev.holdfast.broken.BrokenHandOvers;
import dev.holdfast.broken.BrokenRecipes;
import dev.holdfast.broken.BrokenServers;
import dev.holdfast.broken.BrokenShares;
import dev.holdfast.chaos.fault.FaultKind;
import dev.holdfast.chaos.history.Workload;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.memory.MemoryStore;
import dev.holdfast.lock.spi.LockBackend;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Stream;

/** All mutants: mistakes that locks have been found to make. */
public final class Mutants {
    /** Nothing is wrong with it. */
    public static final String NONE = "none";

    private static final long LONG_LEASE = 5_000;

    private static final Mutant CONTROL = Mutant.ofClient(
                    NONE,
                    client -> client,
                    FaultKind.CLIENT_STOP,
                    FaultKind.CLIENT_KILL,
                    FaultKind.NET_RESET,
                    FaultKind.NET_LATENCY,
                    FaultKind.NET_BLACK_HOLE,
                    FaultKind.NET_DROP_REPLIES)
            .within(15);

    private static final String FROM_ARRIVAL = "hand-over valid from the message's arrival";
    private static final String WHOLE_LEASE = "grant to a dead waiter for a whole lease";
    private static final String HANDS_OVER = "none, handing over";
    private static final String HANDS_OVER_TO_DEAD = "none, handing over to dead waiters";
    private static final long HANDED_MILLIS = 800;
    /** Several dead waiters may be in line one behind the other, and all of them together are to cost less than C6 allows. */
    private static final long HANDED_TO_DEAD_MILLIS = 250;

    /** Whose server makes waiters the holders, and for how many milliseconds at most. */
    private static final Map<String, Long> HANDED = Map.of(
            FROM_ARRIVAL, HANDED_MILLIS,
            HANDS_OVER, HANDED_MILLIS,
            HANDS_OVER_TO_DEAD, HANDED_TO_DEAD_MILLIS,
            WHOLE_LEASE, Long.MAX_VALUE);

    private static final List<Mutant> HANDING_CONTROLS = List.of(
            CONTROL.called(HANDS_OVER),
            Mutant.ofBackend(HANDS_OVER_TO_DEAD, backend -> BrokenHandOvers.deadWaiters(backend, 4))
                    .withLease(LONG_LEASE)
                    .within(30));

    private static final List<Mutant> ALL = List.of(
            // Exclusion
            Mutant.ofBackend("no-op lock", BrokenBackends::noOp),
            Mutant.ofServer("GET-then-SET", BrokenServers::getThenSet),
            Mutant.ofServer("release without owner check", BrokenServers::releaseUnchecked, FaultKind.NET_DROP_REPLIES),
            Mutant.ofServer("two servers that do not know of each other", BrokenServers::split),
            // Time
            Mutant.ofClient(
                    "deadline counted from the response", BrokenClients::deadlineFromResponse, FaultKind.NET_LATENCY),
            Mutant.ofClient("deadline by a wall clock that is set back", BrokenClients::wallClock),
            Mutant.ofServer("server's clock runs twice as fast", BrokenServers::fastClock),
            Mutant.ofServer("lease that never ends", BrokenServers::endless, FaultKind.CLIENT_KILL)
                    .withLongHolds(15)
                    .within(20),
            Mutant.ofServer("renewal that does not extend", BrokenServers::renewNothing)
                    .withLongHolds(15),
            Mutant.ofServer("renewal of the first grant alone", BrokenServers::renewFirst)
                    .withLongHolds(30),
            Mutant.ofBackend("renewal failure ignored", BrokenBackends::renewIgnored, FaultKind.NET_BLACK_HOLE)
                    .withLongHolds(30),
            Mutant.ofBackend("lost without a cause", BrokenBackends::lostWithoutCause)
                    .withLongHolds(30),
            Mutant.ofBackend("unavailable without a cause", BrokenBackends::unavailableWithoutCause)
                    .withLongHolds(30),
            Mutant.ofBackend("waiters that ask without a pause", BrokenBackends::spinning)
                    .withLongHolds(30),
            // With NET_LATE alone, one of five was not caught within 400 seconds.
            Mutant.ofServer(
                            "late attempt puts the lock back on its first lease",
                            BrokenServers::movesBack,
                            FaultKind.NET_LATE,
                            FaultKind.NET_LATE_CUT)
                    .withLongHolds(30),
            // Notifications
            Mutant.ofClient("loss never reported", BrokenClients::lossNeverTold).withLease(3_000),
            Mutant.ofClient("unlock swallows errors", BrokenClients::unlockSwallows),
            // Retries and waiters
            Mutant.ofBackend("non-idempotent retry", BrokenBackends::newOwnerEachTime)
                    .withLease(LONG_LEASE),
            Mutant.ofBackend("grant after the waiter's death", BrokenBackends::grantsToDead)
                    .withLease(LONG_LEASE),
            Mutant.ofBackend("waiter not removed on cancel", BrokenBackends::waiterStays)
                    .withLease(LONG_LEASE),
            Mutant.ofBackend("release never sent", BrokenBackends::releaseNothing)
                    .withLease(LONG_LEASE),
            Mutant.ofBackend("watch after check", BrokenBackends::neverWoken).withLease(LONG_LEASE),
            Mutant.ofBackend("waiters served at random", BrokenBackends::disorder),
            // Hand-overs
            Mutant.ofBackend(FROM_ARRIVAL, BrokenHandOvers::handedFromArrival),
            // With every fourth dead, one of five was not caught.
            Mutant.ofBackend(WHOLE_LEASE, backend -> BrokenHandOvers.deadWaiters(backend, 1))
                    .withLease(LONG_LEASE),
            // Tokens
            Mutant.ofBackend("token starts again", BrokenBackends::tokenReset),
            Mutant.ofBackend("token shared by two grants", BrokenBackends::tokenShared),
            Mutant.ofServer("sequence suffix as token", BrokenServers::tokenByArrival, FaultKind.NET_RESET),
            Mutant.ofClient("new token on re-entry", BrokenClients::tokenOnReentry),
            Mutant.ofClient("same token on hand-off", BrokenClients::tokenOfServerOnly),
            // Recipes
            Mutant.ofClient("leader told late", BrokenRecipes::leaderToldLate, FaultKind.NET_BLACK_HOLE)
                    .under(Workload.ELECTION),
            Mutant.ofClient(
                            "leader told at the end of its lease",
                            BrokenRecipes::leaderToldAtTheEnd,
                            FaultKind.NET_BLACK_HOLE)
                    .under(Workload.ELECTION)
                    .within(150), // shows at the end of a run only
            Mutant.ofClient("multi-lock left half", BrokenRecipes::multiLockLeftHalf)
                    .under(Workload.MULTI),
            // The client
            Mutant.ofClient("close leaves the locks", BrokenClients::closeLeavesLocks)
                    .within(3),
            // Shares and permits
            Mutant.ofServer("reader admitted beside a writer", BrokenShares::readersBesideWriters)
                    .under(Workload.RW),
            Mutant.ofServer("readers pass whoever waits to write", BrokenShares::readersPass)
                    .withLongHolds(60)
                    .under(Workload.RW),
            Mutant.ofServer("permit freed twice", BrokenShares::freedTwice).under(Workload.SEMAPHORE),
            Mutant.ofServer("limit ignored by one process", BrokenShares::limitIgnored)
                    .under(Workload.SEMAPHORE));

    private Mutants() {}

    /**
     * Returns the mutants.
     *
     * @return in a constant order, without the one that is right
     */
    public static List<Mutant> all() {
        return ALL;
    }

    /**
     * Returns the one that is right, once for each workload of the mutants, and on a store that hands over.
     *
     * @return in a constant order, the mutex first
     */
    public static List<Mutant> controls() {
        Stream<Mutant> ofWorkloads = Stream.concat(Stream.of(CONTROL), ALL.stream())
                .map(Mutant::workload)
                .distinct()
                .map(CONTROL::under);
        return Stream.concat(ofWorkloads, HANDING_CONTROLS.stream()).toList();
    }

    /**
     * Tells whether nothing is wrong with the lock.
     *
     * @param name a mutant's name
     * @return true for {@link #NONE} and the other controls
     */
    public static boolean isRight(String name) {
        return name.equals(NONE)
                || HANDING_CONTROLS.stream().anyMatch(control -> control.name().equals(name));
    }

    /**
     * Returns for how long the server makes a waiter the holder.
     *
     * @param name a mutant's name
     * @return milliseconds, or the waiter's lease if that is less; 0 if it only calls the waiter
     */
    public static long handedMillis(String name) {
        return HANDED.getOrDefault(name, 0L);
    }

    /**
     * Returns a mutant.
     *
     * @param name its name; {@link #NONE} for the one that is right
     * @return the mutant
     * @throws IllegalArgumentException if there is none of that name
     */
    public static Mutant named(String name) {
        if (name.equals(NONE)) {
            return CONTROL;
        }
        return Stream.concat(ALL.stream(), HANDING_CONTROLS.stream())
                .filter(mutant -> mutant.name().equals(name))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("no mutant '" + name + "'; there are "
                        + ALL.stream().map(Mutant::name).toList()));
    }

    /**
     * Breaks a client.
     *
     * @param mutant the mutant's name
     * @param client what it is made of
     * @return the client, broken if this mutant is one of the client
     */
    public static LockClient client(String mutant, LockClient client) {
        return named(mutant).client().apply(client);
    }

    /**
     * Breaks a client's backend.
     *
     * @param mutant the mutant's name
     * @param backend what it is made of
     * @return the backend, broken if this mutant is one of the backend
     */
    public static LockBackend backend(String mutant, LockBackend backend) {
        return named(mutant).backend().apply(backend);
    }

    /**
     * Breaks a server.
     *
     * @param mutant the mutant's name
     * @param store what it is made of
     * @return makes the server's side of each connection
     */
    public static Supplier<LockBackend> server(String mutant, MemoryStore store) {
        return named(mutant).server().apply(store);
    }
}
