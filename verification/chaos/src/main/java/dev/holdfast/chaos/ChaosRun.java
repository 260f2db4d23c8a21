package dev.holdfast.chaos;

import dev.holdfast.chaos.check.Check;
import dev.holdfast.chaos.check.Checks;
import dev.holdfast.chaos.check.Evidence;
import dev.holdfast.chaos.check.LeakCheck;
import dev.holdfast.chaos.check.Pace;
import dev.holdfast.chaos.check.Result;
import dev.holdfast.chaos.client.Stores;
import dev.holdfast.chaos.cluster.Cluster;
import dev.holdfast.chaos.cluster.Clusters;
import dev.holdfast.chaos.fault.Fault;
import dev.holdfast.chaos.fault.FaultKind;
import dev.holdfast.chaos.fault.Injection;
import dev.holdfast.chaos.fault.Schedule;
import dev.holdfast.chaos.history.History;
import dev.holdfast.chaos.history.Interval;
import dev.holdfast.chaos.mutant.Mutants;
import dev.holdfast.chaos.register.Register;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.testkit.server.network.Direction;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** Carries out one run and judges it. For one use. */
final class ChaosRun {
    private static final long WARM_UP_NANOS = TimeUnit.SECONDS.toNanos(120);
    private static final long STALL_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    private static final long LOOK_NANOS = TimeUnit.SECONDS.toNanos(2);

    private final RunPlan plan;
    private final PrintWriter out;
    private final boolean arranged;
    private final long originNanos = System.nanoTime();
    private final List<Interval> stalls = new CopyOnWriteArrayList<>();
    private final List<String> problems = new ArrayList<>();
    private long lookedNanos = originNanos;
    private @Nullable RequestWatch watched;
    private long noticeNanos;

    ChaosRun(RunPlan plan, PrintWriter out) {
        this(plan, out, false);
    }

    /**
     * @param plan what to run
     * @param out where to say how it goes
     * @param arranged whether to go on after the faults until each check has a case
     */
    ChaosRun(RunPlan plan, PrintWriter out, boolean arranged) {
        this.plan = plan;
        this.out = out;
        this.arranged = arranged;
    }

    /** Runs and judges. */
    Verdict run() throws IOException, InterruptedException {
        Files.createDirectories(plan.folder());
        Thread clock = new Thread(this::watchClock, "chaos-clock");
        clock.setDaemon(true);
        clock.start();
        try (Cluster cluster =
                        Clusters.start(plan.backend(), plan.profile().leaseMillis(), plan.mutant(), cutsPeers());
                Register register = new Register();
                StorePace pace = StorePace.start(cluster, originNanos);
                Clients clients = new Clients(plan, cluster, register, plan.folder());
                RequestWatch requests = RequestWatch.start(clients, originNanos)) {
            say(
                    "%s, seed %d, %d s",
                    cluster.description(), plan.seed(), plan.length().toSeconds());
            watched = requests;
            noticeNanos = cluster.noticeNanos();
            return run(cluster, register, clients, pace);
        } finally {
            clock.interrupt();
        }
    }

    private Verdict run(Cluster cluster, Register register, Clients clients, StorePace pace)
            throws IOException, InterruptedException {
        List<Fault> faults = faults();
        BooleanSupplier enough = enough(cluster.fifo(), faults.isEmpty(), pace);
        try (LockClient client = patient(cluster, pace)) {
            plan.workload().require(client);
        }
        clients.startAll();
        long sections = warmUp(register, enough);
        say("%d critical sections before the first fault", sections);
        Injector injector = new Injector(cluster, clients, plan, originNanos);
        long faultsFrom = now();
        injector.inject(faults, plan.length().toMillis(), enough);
        try {
            cluster.awaitHealthy();
        } catch (Exception e) {
            problems.add("after the last fault: " + e);
        }
        if (arranged) {
            arrange(cluster, register, clients, injector, pace);
        }
        long stopped = now();
        clients.stopAll().forEach(late -> problems.add("client " + late + " did not end when it was told to"));
        long end = now();
        List<String> leftBehind = leftBehind(cluster, pace);
        problems.addAll(injector.problems());
        Evidence evidence = evidence(injector.injections(), pace, register.accesses(), stopped, end, leftBehind);
        List<Result> results = new ArrayList<>();
        for (Check check : Checks.all(plan.workload(), cluster.fifo())) {
            results.add(check.check(evidence));
        }
        return Verdict.of(plan, cluster, evidence, results, register.unguarded(), faultsFrom, problems, clients.logs());
    }

    private boolean cutsPeers() {
        return plan.profile().weights().keySet().stream()
                .anyMatch(kind -> kind.isBetweenServers()
                        && Clusters.whyNot(kind, plan.backend()).isEmpty());
    }

    /** Those that are drawn but cannot be here are left out, so that the others are the same on every machine. */
    private List<Fault> faults() {
        List<Fault> faults = Schedule.draw(plan.seed(), plan.length().toMillis(), plan.profile());
        Map<FaultKind, String> impossible = new EnumMap<>(FaultKind.class);
        for (FaultKind kind : plan.profile().weights().keySet()) {
            Clusters.whyNot(kind, plan.backend()).ifPresent(why -> impossible.put(kind, why));
        }
        impossible.forEach((kind, why) -> say("not here: %s, since %s", kind, why));
        faults.removeIf(fault -> impossible.containsKey(fault.kind()));
        return faults;
    }

    /** What the clients have written so far, and what else is known. */
    private Evidence evidence(
            List<Injection> injections,
            StorePace pace,
            Map<Integer, List<Register.Access>> accesses,
            long stopped,
            long end,
            List<String> leftBehind)
            throws IOException {
        History history = History.read(plan.folder(), originNanos).noticedLate(noticeNanos);
        if (noticeNanos > 0) {
            injections.stream()
                    .filter(ChaosRun::endsSessionsUnseen)
                    .forEach(injection -> history.endedUnseen(injection.client(), injection.start()));
        }
        return new Evidence(
                history,
                injections,
                new Pace(List.copyOf(stalls), pace.writes(), watched == null ? List.of() : watched.seen()),
                accesses,
                plan.profile().leaseMillis(),
                stopped,
                end,
                leftBehind);
    }

    /** Whether the server sees the end of connections and its clients do not: their claims last until the end of the lease. */
    private static boolean endsSessionsUnseen(Injection injection) {
        return injection.fault().kind() == FaultKind.NET_HALF_OPEN
                && injection.fault().direction().orElse(Direction.TO_SERVER) == Direction.TO_SERVER;
    }

    /** What is judged after the end of the clients needs no arrangement. */
    private void arrange(Cluster cluster, Register register, Clients clients, Injector injector, StorePace pace)
            throws IOException, InterruptedException {
        List<Check> checks = Checks.all(plan.workload(), cluster.fifo()).stream()
                .filter(check -> !check.name().equals(LeakCheck.NAME))
                .toList();
        long start = now();
        List<String> done = new Arrangement(
                        checks,
                        clients.size(),
                        () -> evidence(injector.injections(), pace, register.accesses(), now(), now(), List.of()),
                        injector::provoke)
                .run();
        say("%d s more for checks without a case, with %s", (now() - start) / 1_000_000_000, done);
    }

    /** The clients work undisturbed until there is something to disturb. */
    private long warmUp(Register register, BooleanSupplier enough) throws InterruptedException {
        long start = System.nanoTime();
        long wanted = 10L * plan.profile().clients();
        while (register.reads() < wanted && System.nanoTime() - start < WARM_UP_NANOS && !enough.getAsBoolean()) {
            Thread.sleep(50);
        }
        return register.reads();
    }

    /** A mutant's run is over as soon as it is caught. */
    private BooleanSupplier enough(boolean fifo, boolean undisturbed, StorePace pace) {
        if (Mutants.isRight(plan.mutant())) {
            return () -> false;
        }
        return () -> {
            long nanos = System.nanoTime();
            if (nanos - lookedNanos < LOOK_NANOS) {
                return false;
            }
            lookedNanos = nanos;
            long looked = now();
            try {
                Evidence evidence = evidence(List.of(), pace, Map.of(), looked, looked, List.of());
                return (undisturbed ? Checks.all(plan.workload(), fifo) : Checks.quick(plan.workload()))
                        .stream()
                                .anyMatch(check ->
                                        !check.check(evidence).violations().isEmpty());
            } catch (IOException e) {
                return false;
            }
        };
    }

    /** After all clients were closed, no lock is held, and every lock can be acquired. Killed clients' leases end first. */
    private List<String> leftBehind(Cluster cluster, StorePace pace) throws InterruptedException {
        List<String> leftBehind = new ArrayList<>();
        try (LockClient client = patient(cluster, pace)) {
            for (int i = 0; i < plan.profile().clients(); i++) {
                String name = "chaos/" + (plan.profile().names() + i);
                if (client.holder(name).isPresent()) {
                    leftBehind.add("lock '" + name + "' is still held after the close of client " + i);
                }
            }
            Duration patience = Duration.ofMillis(4 * plan.profile().leaseMillis() + 10_000);
            for (int i = 0; i < plan.profile().names(); i++) {
                String name = "chaos/" + i;
                Optional<? extends Lease> lease = plan.workload()
                        .takeWhole(client, name, leftBehind.isEmpty() ? patience : Duration.ofSeconds(1));
                if (lease.isEmpty()) {
                    leftBehind.add("lock '" + name + "' cannot be had as a whole " + patience
                            + " after all clients have closed");
                } else {
                    lease.get().close();
                }
            }
        } catch (LockException e) {
            problems.add("looking for what is left: " + e);
        }
        return leftBehind;
    }

    /** A client of the controller's own, through proxies that no fault concerns. */
    private LockClient patient(Cluster cluster, StorePace pace) {
        return Stores.patient(cluster.store(pace.ports()), plan.profile().leaseMillis(), Duration.ofSeconds(10));
    }

    private long now() {
        return System.nanoTime() - originNanos;
    }

    private void watchClock() {
        long before = System.nanoTime();
        try {
            while (true) {
                Thread.sleep(20);
                long after = System.nanoTime();
                if (after - before > STALL_NANOS) {
                    stalls.add(new Interval("the machine was busy", before - originNanos, after - originNanos));
                }
                before = after;
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void say(String format, Object... arguments) {
        out.printf("chaos: " + format + "%n", arguments);
        out.flush();
    }
}
