package dev.holdfast.chaos;

import dev.holdfast.chaos.cluster.Cluster;
import dev.holdfast.chaos.cluster.Move;
import dev.holdfast.chaos.cluster.Node;
import dev.holdfast.chaos.fault.Fault;
import dev.holdfast.chaos.fault.FaultKind;
import dev.holdfast.chaos.fault.Injection;
import dev.holdfast.lock.testkit.server.network.Direction;
import dev.holdfast.lock.testkit.server.network.FaultProxy;
import dev.holdfast.lock.testkit.server.process.SlowDisk;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

/**
 * Does the faults of a schedule at their times, each on a thread of its own, and undoes them. Whoever is suffering already
 * is left out.
 */
final class Injector {
    private static final long GATHER_MILLIS = 1_000;
    private static final long REPLACE_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

    private final Cluster cluster;
    private final Clients clients;
    private final RunPlan plan;
    private final long originNanos;
    private final LateFaults late;
    private final Map<String, ReentrantLock> suffering = new ConcurrentHashMap<>();
    private final ConcurrentLinkedQueue<Injection> injections = new ConcurrentLinkedQueue<>();
    private final ConcurrentLinkedQueue<String> problems = new ConcurrentLinkedQueue<>();
    private volatile CountDownLatch ended = new CountDownLatch(0);

    Injector(Cluster cluster, Clients clients, RunPlan plan, long originNanos) {
        this.cluster = cluster;
        this.clients = clients;
        this.plan = plan;
        this.originNanos = originNanos;
        this.late = new LateFaults(
                cluster, clients, plan.profile().leaseMillis(), millis -> ended.await(millis, TimeUnit.MILLISECONDS));
    }

    /** Does all faults, or stops early; returns when the last one is undone. */
    void inject(List<Fault> faults, long lengthMillis, BooleanSupplier enough) throws InterruptedException {
        long start = System.nanoTime();
        List<Thread> threads = new ArrayList<>();
        ended = new CountDownLatch(1);
        for (Fault fault : faults) {
            if (!sleepUntil(start + TimeUnit.MILLISECONDS.toNanos(fault.atMillis()), enough)) {
                break;
            }
            Thread thread = new Thread(() -> run(fault), "chaos-" + fault.kind());
            thread.setDaemon(true);
            thread.start();
            threads.add(thread);
        }
        sleepUntil(start + TimeUnit.MILLISECONDS.toNanos(lengthMillis), enough);
        ended.countDown();
        for (Thread thread : threads) {
            thread.join();
        }
    }

    /**
     * Does one fault to a client that holds locks: they stay longer in their critical sections, so that others wait for them.
     *
     * @param kind of clients
     * @param client whom
     */
    void provoke(FaultKind kind, int client) throws InterruptedException {
        long lease = plan.profile().leaseMillis();
        ended = new CountDownLatch(1);
        clients.stay(List.of(client), GATHER_MILLIS + lease);
        Thread.sleep(GATHER_MILLIS);
        run(new Fault(kind, 0, 3 * lease / 2, client, Optional.empty(), 0));
        ended.countDown();
    }

    private static boolean sleepUntil(long nanos, BooleanSupplier enough) throws InterruptedException {
        while (nanos - System.nanoTime() > 0) {
            if (enough.getAsBoolean()) {
                return false;
            }
            Thread.sleep(Math.min(50, Math.max(1, TimeUnit.NANOSECONDS.toMillis(nanos - System.nanoTime()))));
        }
        return true;
    }

    List<Injection> injections() {
        return List.copyOf(injections);
    }

    /** What went wrong with doing wrong. */
    List<String> problems() {
        return List.copyOf(problems);
    }

    private void run(Fault fault) {
        try {
            switch (fault.kind()) {
                case CLIENT_STOP -> stopClient(fault, fault.target() % clients.size());
                case CLIENT_KILL -> killClient(fault, fault.target() % clients.size());
                case SERVER_STOP, LEADER_STOP -> stopServer(fault, server(fault));
                case SERVER_KILL, LEADER_KILL -> {
                    if (cluster.killable()) {
                        killServer(fault, server(fault));
                    }
                }
                case SLOW_DISK -> slowDisk(fault);
                case PEER_CUT, PEER_CUT_ONE_WAY -> cutPeers(fault);
                case SLOT_MOVE -> move(fault);
                case NET_LATE -> late(fault);
                case NET_LATE_CUT -> lateAndCutOff(fault);
                default -> network(fault);
            }
        } catch (IOException | RuntimeException e) {
            problems.add(fault + ": " + e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private int server(Fault fault) {
        boolean leader = switch (fault.kind()) {
            case LEADER_STOP, LEADER_KILL -> true;
            default -> false;
        };
        return leader ? cluster.leader() : fault.target() % cluster.nodes().size();
    }

    private void stopClient(Fault fault, int client) throws IOException, InterruptedException {
        alone("client " + client, () -> {
            long start = now();
            clients.pause(client);
            try {
                hold(fault);
            } finally {
                clients.resume(client);
            }
            note(fault, "client " + client, client, start);
        });
    }

    private void killClient(Fault fault, int client) throws IOException, InterruptedException {
        alone("client " + client, () -> {
            long start = now();
            clients.kill(client);
            note(fault, "client " + client, client, start);
            // Whoever takes over is not disturbed by a new process.
            ended.await(
                    TimeUnit.MILLISECONDS.toNanos(plan.profile().quietMillis()) - REPLACE_NANOS, TimeUnit.NANOSECONDS);
            clients.replace(client);
        });
    }

    private void stopServer(Fault fault, int node) throws IOException, InterruptedException {
        alone("server " + node, () -> {
            long start = now();
            Node server = cluster.nodes().get(node);
            server.pause();
            try {
                hold(fault);
            } finally {
                server.resume();
            }
            note(fault, "server " + node, -1, start);
        });
    }

    private void killServer(Fault fault, int node) throws IOException, InterruptedException {
        alone("server " + node, () -> {
            long start = now();
            Node server = cluster.nodes().get(node);
            server.kill();
            hold(fault);
            // No client may reach it before it has its role again.
            clients.ofNode(node).forEach(FaultProxy::cut);
            try {
                server.start();
            } finally {
                clients.ofNode(node).forEach(FaultProxy::pass);
            }
            note(fault, "server " + node, -1, start);
        });
    }

    /** Two of three times of the leader. */
    private void slowDisk(Fault fault) throws IOException, InterruptedException {
        int leader = cluster.leader();
        int node =
                fault.target() % 3 == 0 ? fault.target() / 3 % cluster.nodes().size() : leader;
        alone("server " + node, () -> {
            long start = now();
            Duration each = Duration.ofMillis(fault.amount());
            try (SlowDisk disk = SlowDisk.of(cluster.nodes().get(node).process(), each)) {
                hold(fault);
            }
            String what = "server " + node + (node == leader ? ", which led" : "") + ", forced writes +"
                    + fault.amount() + " ms";
            note(fault, what, -1, start);
        });
    }

    private void cutPeers(Fault fault) throws IOException, InterruptedException {
        PeerCut cut = PeerCut.of(fault, cluster).orElse(null);
        if (cut == null) {
            return;
        }
        alone(
                "peers",
                () -> alone("server " + cut.node(), () -> {
                    long start = now();
                    try {
                        cut.begin();
                        hold(fault);
                    } finally {
                        cut.end();
                    }
                    note(fault, cut.outcome(), -1, start);
                }));
    }

    /** Of one server to another, both of which do their work. */
    private void move(Fault fault) throws IOException, InterruptedException {
        String lock = "chaos/" + fault.target() % plan.profile().names();
        Move move = cluster.move(lock, fault.target()).orElse(null);
        if (move == null) {
            return;
        }
        alone(
                "server " + move.from(),
                () -> alone("server " + move.to(), () -> {
                    long start = now();
                    try {
                        move.begin();
                        hold(fault);
                    } finally {
                        move.finish();
                    }
                    note(fault, move + ", with " + lock, -1, start);
                }));
    }

    /**
     * Whose connections a fault of the network concerns.
     *
     * @param name for people
     * @param client the client; -1 if all
     * @param proxies theirs
     */
    private record Connections(String name, int client, List<FaultProxy> proxies) {}

    private Connections connections(Fault fault) {
        int choice = fault.target() % (clients.size() + cluster.nodes().size());
        int node = choice - clients.size();
        return node < 0
                ? new Connections("client " + choice, choice, clients.ofClient(choice))
                : new Connections("server " + node, -1, clients.ofNode(node));
    }

    private void network(Fault fault) throws IOException, InterruptedException {
        Connections whose = connections(fault);
        alone("network", () -> {
            long start = now();
            String how = "";
            try {
                how = begin(fault, whose.proxies());
                hold(fault);
            } finally {
                whose.proxies().forEach(FaultProxy::pass);
            }
            note(fault, whose.name() + how, whose.client(), start);
        });
    }

    private void late(Fault fault) throws IOException, InterruptedException {
        Connections whose = connections(fault);
        alone("network", () -> {
            long start = now();
            String how = late.keepBack(fault, whose.proxies());
            note(fault, whose.name() + how, whose.client(), start);
        });
    }

    private void lateAndCutOff(Fault fault) throws IOException, InterruptedException {
        alone("network", () -> {
            long start = now();
            note(fault, late.keepBackAndCutOff(fault), -1, start);
        });
    }

    private static String begin(Fault fault, List<FaultProxy> proxies) {
        String way = fault.direction()
                .map(direction -> direction == Direction.TO_SERVER ? ", requests" : ", replies")
                .orElse(", both ways");
        return switch (fault.kind()) {
            case NET_RESET -> each(proxies, "", FaultProxy::resetAll);
            case NET_CUT -> each(proxies, "", FaultProxy::cut);
            case NET_HALF_OPEN ->
                each(proxies, way, proxy -> proxy.halfOpen(fault.direction().orElse(Direction.TO_SERVER)));
            case NET_BLACK_HOLE -> each(proxies, way, proxy -> directions(fault).forEach(proxy::blackHole));
            case NET_LATENCY ->
                each(
                        proxies,
                        way + " +" + fault.amount() + " ms",
                        proxy -> directions(fault)
                                .forEach(direction -> proxy.latency(direction, Duration.ofMillis(fault.amount()))));
            case NET_DROP_REPLIES -> each(proxies, "", proxy -> proxy.dropRepliesAfter(fault.amount()));
            default -> throw new IllegalStateException(fault.kind() + " is no fault of the network");
        };
    }

    private static List<Direction> directions(Fault fault) {
        return fault.direction().map(List::of).orElse(List.of(Direction.values()));
    }

    private static String each(List<FaultProxy> proxies, String how, Consumer<FaultProxy> action) {
        proxies.forEach(action);
        return how;
    }

    /** For the fault's time, or until the run is over. */
    private void hold(Fault fault) throws InterruptedException {
        boolean over = ended.await(fault.durationMillis(), TimeUnit.MILLISECONDS);
        if (over) {
            Thread.yield();
        }
    }

    private void alone(String target, Step step) throws IOException, InterruptedException {
        ReentrantLock lock = suffering.computeIfAbsent(target, any -> new ReentrantLock());
        if (!lock.tryLock()) {
            return;
        }
        try {
            step.run();
        } finally {
            lock.unlock();
        }
    }

    private long now() {
        return System.nanoTime() - originNanos;
    }

    private void note(Fault fault, String target, int client, long start) {
        injections.add(new Injection(fault, target, client, start, now()));
    }

    @FunctionalInterface
    private interface Step {
        void run() throws IOException, InterruptedException;
    }
}
