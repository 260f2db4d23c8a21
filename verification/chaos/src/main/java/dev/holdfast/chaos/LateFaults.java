package dev.holdfast.chaos;

import dev.holdfast.chaos.cluster.Cluster;
import dev.holdfast.chaos.fault.Fault;
import dev.holdfast.lock.testkit.server.network.Direction;
import dev.holdfast.lock.testkit.server.network.FaultProxy;
import dev.holdfast.lock.testkit.server.network.LateBytes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

/** Does the faults in which something arrives late. */
final class LateFaults {
    private static final Duration DELIVERY = Duration.ofSeconds(1);
    private static final int TORN = 4;

    private final Cluster cluster;
    private final Clients clients;
    private final long leaseMillis;
    private final Pause pause;

    /** Waits a number of milliseconds, or until the run is over. */
    @FunctionalInterface
    interface Pause {
        void await(long millis) throws InterruptedException;
    }

    LateFaults(Cluster cluster, Clients clients, long leaseMillis, Pause pause) {
        this.cluster = cluster;
        this.clients = clients;
        this.leaseMillis = leaseMillis;
        this.pause = pause;
    }

    /** Keeps back, lets the clients go on, delivers, and ends the old connections. Returns what, for people. */
    String keepBack(Fault fault, List<FaultProxy> proxies) throws InterruptedException {
        Direction direction = fault.direction().orElse(Direction.TO_SERVER);
        boolean torn = fault.amount() % TORN == 0;
        boolean alive = direction == Direction.TO_CLIENT && fault.amount() % 2 == 1;
        List<LateBytes> late =
                proxies.stream().map(proxy -> proxy.keepBack(direction)).toList();
        try {
            pause.await(fault.amount());
            if (!alive) {
                late.forEach(LateBytes::cutOff);
                late.forEach(LateBytes::dropClients);
            }
            pause.await(fault.durationMillis() - fault.amount());
            late.forEach(torn ? LateBytes::deliverTorn : LateBytes::deliver);
            for (LateBytes bytes : late) {
                bytes.awaitDelivered(DELIVERY);
            }
        } finally {
            late.forEach(LateBytes::end);
        }
        return (direction == Direction.TO_SERVER ? ", requests" : ", replies") + (torn ? ", torn" : "");
    }

    /** Requests of one client, and when they are to arrive. */
    private record Kept(int client, List<FaultProxy> proxies, List<LateBytes> late, long atMillis) {}

    /** What must be done when. */
    private record Step(long atMillis, Runnable action) {}

    /**
     * Has all holders stay until many wait, and leave together: then it is the turn of many waiters, and half of the clients
     * have their requests kept back. These go on, under another leader, and now they keep what they get. Then, one client
     * after the other, it is cut off for a lease, and what was kept back of it is delivered: a waiter's request, say, that puts
     * its lock back on a lease that is not renewed. The end of such a lease is unknown, so the times are spread over more than a
     * lease. Returns who, for people.
     */
    String keepBackAndCutOff(Fault fault) throws InterruptedException {
        long gatherMillis = leaseMillis * 3 / 5;
        clients.stay(IntStream.range(0, clients.size()).boxed().toList(), gatherMillis);
        pause.await(gatherMillis - 10);
        long startNanos = System.nanoTime();
        List<Kept> kept = keepBackOfHalf(fault, fault.durationMillis() - gatherMillis - leaseMillis);
        try {
            pause.await(fault.amount());
            clients.stay(kept.stream().map(Kept::client).toList(), fault.durationMillis() - gatherMillis);
            kept.forEach(each -> each.late().forEach(LateBytes::cutOff));
            kept.forEach(each -> each.late().forEach(LateBytes::dropClients));
            cluster.changeLeader();
            for (Step step : steps(kept)) {
                pause.await(step.atMillis() - TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startNanos));
                step.action().run();
            }
        } finally {
            clients.stay(List.of(), 0);
            kept.forEach(each -> each.late().forEach(LateBytes::end));
            kept.forEach(each -> each.proxies().forEach(FaultProxy::pass));
        }
        return "clients " + kept.stream().map(Kept::client).sorted().toList();
    }

    private List<Kept> keepBackOfHalf(Fault fault, long last) {
        SplittableRandom random = new SplittableRandom(fault.target());
        int count = Math.max(1, clients.size() / 2);
        long spread = Math.min(6 * leaseMillis / 5, last - fault.amount()) / count;
        List<Kept> kept = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            int client = (fault.target() + i) % clients.size();
            List<FaultProxy> proxies = clients.ofClient(client);
            List<LateBytes> late = proxies.stream()
                    .map(proxy -> proxy.keepBack(Direction.TO_SERVER))
                    .toList();
            kept.add(new Kept(client, proxies, late, last - i * spread - random.nextLong(Math.max(1, spread))));
        }
        return kept;
    }

    private List<Step> steps(List<Kept> kept) {
        List<Step> steps = new ArrayList<>();
        for (Kept each : kept) {
            steps.add(new Step(each.atMillis(), () -> {
                each.proxies().forEach(FaultProxy::blackHole);
                each.late().forEach(LateBytes::deliver);
            }));
            steps.add(
                    new Step(each.atMillis() + leaseMillis, () -> each.proxies().forEach(FaultProxy::pass)));
        }
        steps.sort(Comparator.comparingLong(Step::atMillis));
        return steps;
    }
}
