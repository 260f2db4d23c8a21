package dev.holdfast.lock.engine;

import dev.holdfast.lock.AttemptOutcome;
import dev.holdfast.lock.Demand;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockListener;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.Renewal;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.BackendInfo;
import dev.holdfast.lock.spi.OwnerId;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * A seeded run of several clients against one {@link SimStore}, checked throughout:
 *
 * <ul>
 *   <li>S1: when the server grants a name, no lease of that name that was granted before counts as valid anywhere;
 *   <li>S2: tokens increase in the order of the grants that callers get;
 *   <li>S4 and cancellation: when the faults have stopped and all callers are done, nothing is left: no entry on the
 *       server, no name, request or wait in a client;
 *   <li>a suspect lease is not valid before a renewal that was sent later is confirmed;
 *   <li>a closed client whose requests were answered has left nothing on the server;
 *   <li>each call ends by its deadline, or within the request time-out if that is longer;
 *   <li>the events add up: each attempt ends as acquired or given up, each grant as released or lost; no call is left without
 *     an end;
 *   <li>the properties that {@link SimJudge} checks: grants, order, lease length and promptness.
 * </ul>
 */
final class Simulation {
    private static final long SECOND = 1_000_000_000L;

    private final long seed;
    private final SimWorld world;
    private final SimStore store;
    final SimJudge judge;
    private final List<Client> clients = new ArrayList<>();
    private final Map<String, List<Claim>> claims = new HashMap<>();
    private final boolean minHolds;
    private final boolean faultless;
    /** Whether the run has no other faults. */
    private final boolean undisturbed;
    /** Whether callers ask for shares and permits too. */
    private final boolean mixed;
    /** For the message if a call is left without an end. */
    private final Map<Waiter, String> waiting = new HashMap<>();

    private @Nullable AssertionError failure;
    int acquisitions;
    int losses;
    int handOffs;
    int injected;
    int unclearRenewals;
    int doubts;
    int closes;
    int stops;
    int late;

    /** Only marks the grant: the simulation releases the hold, since closing a lease blocks. */
    record SimLease(Hold hold) implements Lease {
        @Override
        public String name() {
            return hold.heldGrant.name();
        }

        @Override
        public long token() {
            return hold.token;
        }

        @Override
        public boolean isValid() {
            throw new UnsupportedOperationException();
        }

        @Override
        public Duration remaining() {
            throw new UnsupportedOperationException();
        }

        @Override
        public void ensure(Duration validity) {
            throw new UnsupportedOperationException();
        }

        @Override
        public CompletionStage<LossReason> lost() {
            throw new UnsupportedOperationException();
        }

        /** Called if the grant came after its caller had given up. */
        @Override
        public void close() {
            try {
                hold.lock.end(hold);
            } catch (LeaseLostException tooLate) {
                // lost and cancelled: nothing more to do
            }
        }
    }

    private record Claim(Client client, Hold hold, OwnerId owner) {
        Demand demand() {
            return hold.heldGrant.grant.demand();
        }

        int slot() {
            return hold.heldGrant.grant.slot();
        }

        boolean isDoubted() {
            return client.backend.doubts.containsKey(owner);
        }

        boolean isValid() {
            HeldGrant heldGrant = hold.heldGrant;
            return hold.state == Hold.State.HELD
                    && !heldGrant.isDoubted()
                    && heldGrant.remainingNanos(client.machine) > 0;
        }
    }

    private static final class Client {
        final SimWorld.Machine machine;
        final SimBackend backend;
        final EngineClient engine;
        /** How many holds have a token: readers of one client share it. */
        final Map<Long, Integer> open = new HashMap<>();

        final Map<AttemptOutcome, Integer> gaveUp = new EnumMap<>(AttemptOutcome.class);
        int attempted;
        int acquired;
        /** Callers that have not finished. */
        int unfinished;

        boolean closed;

        Client(SimWorld.Machine machine, SimBackend backend, LockClientOptions options) {
            this.machine = machine;
            this.backend = backend;
            this.engine = new EngineClient(backend, options, machine.runtime()).start();
        }
    }

    Simulation(long seed, SimKind kind, SimStore.Fault fault, double slowClock, boolean mixed) {
        this(seed, kind, fault, slowClock, mixed, false);
    }

    /** A run without faults. */
    static Simulation undisturbed(long seed, SimKind kind) {
        return new Simulation(seed, kind, SimStore.Fault.NONE, 1, false, true);
    }

    private Simulation(
            long seed, SimKind kind, SimStore.Fault fault, double slowClock, boolean mixed, boolean undisturbed) {
        this.seed = seed;
        this.mixed = mixed;
        this.world = new SimWorld(seed);
        boolean drawnQueues = world.chance(0.5);
        boolean queues = kind.queues(drawnQueues);
        boolean blocking = kind.blocking(world.chance(0.2));
        minHolds = world.chance(0.3);
        boolean sticky = kind.sticky(world.chance(0.3));
        boolean notifies = kind == SimKind.TABLE && drawnQueues;
        store = new SimStore(world, kind, queues, notifies, sticky, fault);
        judge = new SimJudge(world::now, store, this::check);
        store.onGrant = acquisition -> {
            checkExclusion(acquisition);
            judge.grants(acquisition);
        };
        double faults = undisturbed || world.chance(0.2) ? 0 : world.random.nextDouble() * 0.4;
        this.undisturbed = undisturbed;
        faultless = faults == 0;
        judge.signals = !mixed && (queues || notifies);
        LockClientOptions options = LockClientOptions.builder()
                .requestTimeout(Duration.ofMillis(400 + world.random.nextInt(1500)))
                .unavailableTimeout(Duration.ofSeconds(5))
                .handOffLimit(world.random.nextInt(4))
                .handOffTime(Duration.ofSeconds(1))
                .build();
        for (int i = 0; i < 3; i++) {
            SimWorld.Machine machine = world.new Machine(slowClock * (1 + (world.random.nextDouble() - 0.5) * 0.009));
            BackendInfo info = BackendInfo.named("sim")
                    .blocking(blocking)
                    .fifo(queues)
                    .minLeaseMillis(1)
                    .pollMinMillis(kind.pollMinMillis(queues, notifies))
                    .pollMaxMillis(kind.pollMaxMillis(notifies))
                    .ordered(kind.ordered(world.chance(0.5)))
                    .expiring(kind.expiring(!sticky && !queues))
                    .demands(EnumSet.allOf(Demand.Kind.class))
                    .handsOver(kind.handsOver() && queues && !blocking)
                    .build();
            clients.add(new Client(machine, new SimBackend(world, machine, store, info, faults), options));
        }
        clients.forEach(client -> client.engine.addListener(listener(client)));
    }

    private LockListener listener(Client client) {
        return new LockListener() {
            @Override
            public void attempted(String name) {
                client.attempted++;
            }

            @Override
            public void gaveUp(String name, Duration waited, AttemptOutcome outcome) {
                client.gaveUp.merge(outcome, 1, Integer::sum);
            }

            @Override
            public void acquired(String name, long token, Duration waited, boolean handedOff) {
                client.acquired++;
                acquisitions++;
                handOffs += handedOff ? 1 : 0;
                client.open.merge(key(name, token), 1, Integer::sum);
            }

            @Override
            public void released(String name, long token, Duration held) {
                client.open.merge(key(name, token), -1, Integer::sum);
            }

            @Override
            public void lost(String name, long token, Duration held, LossReason reason) {
                losses++;
                client.open.merge(key(name, token), -1, Integer::sum);
                judge.loses(clients.indexOf(client), name, token, held, reason);
            }
        };
    }

    private static long key(String name, long token) {
        return token * 10 + name.charAt(0);
    }

    void run() {
        for (Client client : clients) {
            int actors = 1 + world.random.nextInt(3);
            for (int i = 0; i < actors; i++) {
                client.unfinished++;
                begin(client, 2 + world.random.nextInt(3));
            }
        }
        int disturbances = undisturbed ? 0 : world.random.nextInt(4);
        judge.undisturbed = faultless && disturbances == 0;
        for (int i = disturbances; i > 0; i--) {
            Client client = clients.get(world.random.nextInt(3));
            long when = world.millis(0, 8000);
            switch (world.random.nextInt(6)) {
                case 0 ->
                    world.after(null, when, () -> client.machine.jumpWallClock(world.millis(-5000, 5000) / 1_000_000));
                case 1 -> world.after(null, when, () -> client.machine.pause(world.millis(1, 5000)));
                case 2 -> world.after(null, when, () -> store.revoke("a"));
                case 3 -> world.after(null, when, this::revokeAndTell);
                case 4 -> world.after(client.machine, when, () -> suspect(client));
                default -> world.after(client.machine, when, () -> close(client));
            }
        }
        world.runUntil(world.now() + 12 * SECOND);
        clients.forEach(client -> {
            client.backend.calm = true;
            injected += client.backend.injected;
            unclearRenewals += client.backend.unclearRenewals;
            stops += client.backend.stops;
        });
        world.runUntil(world.now() + 90 * SECOND);
        clients.forEach(client -> late += client.backend.late);
        checkNothingIsLeft();
        if (failure != null) {
            throw failure;
        }
    }

    private void revokeAndTell() {
        OwnerId gone = store.revoke("a");
        if (gone != null) {
            clients.forEach(client -> client.backend.reportLost(gone));
        }
    }

    private void suspect(Client client) {
        doubts++;
        client.backend.suspectAll();
        checkDoubts();
    }

    private void checkDoubts() {
        claims.values()
                .forEach(all -> all.forEach(claim -> check(
                        !claim.isDoubted() || !claim.isValid(),
                        "token " + claim.hold.token + " is valid although it is suspect")));
    }

    /** Like {@link EngineClient#close}, which waits for the store; then the process ends. */
    private void close(Client client) {
        CompletableFuture<Void> idle = client.engine.beginClose();
        if (idle == null) {
            return;
        }
        closes++;
        client.closed = true;
        AtomicBoolean ended = new AtomicBoolean();
        Runnable end = () -> {
            if (!ended.getAndSet(true)) {
                check(
                        !idle.isDone()
                                || client.backend.injected > 0
                                || minHolds
                                || !store.holdsOrAwaits(client.machine),
                        "left on the server by a client that was closed: " + store);
                client.engine.endClose(idle.isDone());
                world.after(client.machine, 50_000_000, () -> client.machine.dead = true);
            }
        };
        idle.thenRun(end);
        world.after(client.machine, client.engine.engine().requestTimeoutNanos(), end);
    }

    private void begin(Client client, int rounds) {
        world.after(client.machine, world.millis(0, 500), () -> acquire(client, rounds));
    }

    private void acquire(Client client, int rounds) {
        if (rounds == 0) {
            client.unfinished--;
            return;
        }
        String name = world.chance(0.8) ? "a" : "b";
        LockOptions.Builder options = LockOptions.builder()
                .lease(Duration.ofMillis(world.chance(0.7) ? 1000 : 2000))
                .fair(world.chance(0.2));
        if (world.chance(0.2)) {
            options.renewal(Renewal.NONE);
        } else if (world.chance(0.2)) {
            options.maxHold(Duration.ofMillis(1500));
        }
        if (minHolds && world.chance(0.3)) {
            options.minHold(Duration.ofMillis(300));
        }
        long timeout = world.chance(0.2) ? 0 : world.chance(0.3) ? Waiter.FOREVER : world.millis(1, 6000);
        long since = client.machine.nanos();
        long pausedBefore = client.machine.pausedNanos;
        AsyncWaiter waiter = new AsyncWaiter(
                name, options.build(), timeout, since, client.machine.runtime().callbacks(), SimLease::new);
        LockEntry entry = submit(client, name, waiter);
        if (!waiter.triesOnce() && !waiter.waitsForever()) {
            waiter.timeout(client.machine.runtime().timer().after(timeout, () -> entry.timeOut(waiter)));
        }
        waiting.put(waiter, name + " on client " + clients.indexOf(client) + " " + waiter.options + " for " + timeout);
        waiter.future.whenComplete((lease, error) -> {
            waiting.remove(waiter);
            entry.cancel(waiter);
            long patience = Math.max(timeout, client.engine.engine().requestTimeoutNanos());
            long late = client.machine.nanos() - since - patience;
            boolean bounded = !waiter.triesOnce() && !waiter.waitsForever();
            check(
                    !bounded || late <= 5_000_000 + 2 * (client.machine.pausedNanos - pausedBefore),
                    "deadline overrun by " + late);
            Hold hold = waiter.hold;
            if (lease == null || hold == null) {
                judge.refused(waiter);
                begin(client, rounds - 1);
                return;
            }
            long keptMillis = client.backend.keptMillis(waiter.options.lease().toMillis());
            judge.served(waiter, hold, client.machine, keptMillis);
            claimed(client, name, hold);
            long holdMillis = world.chance(0.5) ? world.millis(0, 20) : world.millis(0, 3000);
            world.after(client.machine, holdMillis, () -> {
                release(entry, hold);
                begin(client, rounds - 1);
            });
        });
        if (world.chance(0.15)) {
            world.after(client.machine, world.millis(0, 1500), () -> waiter.future.cancel(true));
        }
    }

    private LockEntry submit(Client client, String name, AsyncWaiter waiter) {
        LockEntries entries = client.engine.entries();
        int number = mixed ? world.random.nextInt(name.equals("a") ? 3 : 4) : 0;
        Demand.Permits permits = new Demand.Permits(Math.max(1, number), SimStore.LIMIT);
        Demand demand = number == 0 ? Demand.EXCLUSIVE : name.equals("a") ? Demand.SHARED : permits;
        judge.asks(clients.indexOf(client), name, demand, waiter);
        if (number == 0) {
            return entries.submit(name, waiter);
        }
        return name.equals("a") ? entries.read(name, waiter) : entries.permit(name, permits, waiter);
    }

    /** A caller notified only after its lease has ended may be notified after the caller of a later grant. */
    private void claimed(Client client, String name, Hold hold) {
        Claim claim = new Claim(client, hold, hold.heldGrant.grant.acquisition().owner());
        List<Claim> earlier = claims.computeIfAbsent(name, key -> new ArrayList<>());
        for (Claim other : earlier) {
            boolean apart = other.slot() != claim.slot()
                    || other.demand() instanceof Demand.Shared && claim.demand() instanceof Demand.Shared;
            boolean together =
                    !other.demand().equals(Demand.EXCLUSIVE) && !claim.demand().equals(Demand.EXCLUSIVE);
            check(
                    other.hold.token < hold.token
                            || together && apart
                            || !claim.isValid()
                            || store.revoked.contains(claim.owner),
                    "token " + hold.token + " after " + other.hold.token);
        }
        earlier.add(claim);
        checkSlot(claim, name);
    }

    private void release(LockEntry entry, Hold hold) {
        checkDoubts();
        try {
            hold.lock.end(hold);
        } catch (LeaseLostException expected) {
            check(hold.state == Hold.State.LOST, "reported lost while " + hold.state);
        }
    }

    private void checkExclusion(AcquisitionId granted) {
        int permits = granted.demand() instanceof Demand.Permits mine ? mine.permits() : 0;
        for (Claim claim : claims.getOrDefault(granted.name(), List.of())) {
            if (claim.owner.equals(granted.owner()) || store.revoked.contains(claim.owner) || !claim.isValid()) {
                continue;
            }
            check(
                    claim.demand().leavesRoomFor(granted.demand()),
                    "granted to another, " + granted.demand() + ", while token " + claim.hold.token + ", "
                            + claim.demand() + ", is valid for "
                            + claim.hold.heldGrant.remainingNanos(claim.client.machine) + " ns");
            permits += claim.demand() instanceof Demand.Permits others ? others.permits() : 0;
        }
        check(permits <= SimStore.LIMIT, permits + " permits are valid or granted");
    }

    /** Checks that no other holder has the slot of a new grant. */
    private void checkSlot(Claim begun, String name) {
        for (Claim claim : claims.getOrDefault(name, List.of())) {
            check(
                    claim == begun
                            || claim.slot() == 0
                            || claim.slot() != begun.slot()
                            || !claim.isValid()
                            || !begun.isValid()
                            || store.revoked.contains(claim.owner),
                    "slot " + claim.slot() + " twice: tokens " + claim.hold.token + " and " + begun.hold.token);
        }
    }

    private void checkNothingIsLeft() {
        int unfinished = clients.stream()
                .filter(client -> !client.machine.dead)
                .mapToInt(client -> client.unfinished)
                .sum();
        check(
                unfinished == 0,
                unfinished + " callers are still waiting or holding: " + waiting.values() + "; " + store);
        for (String name : List.of("a", "b")) {
            check(!store.isHeldOrAwaited(name), "left on the server: " + store);
        }
        for (Client client : clients) {
            check(client.closed || client.engine.isIdle(), "left in a client");
            int ended = client.acquired
                    + client.gaveUp.values().stream()
                            .mapToInt(Integer::intValue)
                            .sum();
            check(
                    client.attempted == ended,
                    client.attempted + " attempts, but " + client.acquired + " grants and " + client.gaveUp);
            client.open.forEach((key, count) ->
                    check(count == 0 || client.closed && count > 0, "grant " + key + " has " + count + " open holds"));
        }
    }

    /** Records the first failure: an exception thrown inside a callback would be swallowed there. */
    private void check(boolean holds, String otherwise) {
        if (!holds && failure == null) {
            failure = new AssertionError(otherwise);
        }
    }

    /** How often behaviour specific to the store's kind occurred. */
    int handOvers() {
        return store.handOvers;
    }

    int ofItsKind() {
        return store.ofItsKind;
    }

    long seed() {
        return seed;
    }

    @Override
    public String toString() {
        return "seed " + seed;
    }
}
