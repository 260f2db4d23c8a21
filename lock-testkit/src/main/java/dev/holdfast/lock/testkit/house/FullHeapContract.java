package dev.holdfast.lock.testkit.house;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.testkit.support.HistoryChecker;
import dev.holdfast.lock.testkit.support.PauseMeter;
import dev.holdfast.lock.testkit.support.Waits;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/**
 * The heap of a process is full for some seconds while it holds locks and contends for others: allocations fail in all its threads, those
 * of the library among them. A subclass says on which store. Public for those in other modules.
 */
@House("process:heap")
public abstract class FullHeapContract {
    private static final Duration PATIENCE = Duration.ofMinutes(2);
    private static final int BYSTANDERS = 10;
    private static final int HELD = 4;
    private static final int CONTENDED = 3;
    private static final int THREADS = 2;

    /** Warmed up: a class whose initializer has no memory can never be used in that JVM, and no library can change that. */
    private static final int WARM_CLAIMS = 50;

    /** Verification resolves the classes that are caught; without it, that needs memory when something is first caught. */
    private static final String VERIFIED = "-XX:+BytecodeVerificationRemote";

    private static final AtomicInteger RUNS = new AtomicInteger();

    /** For subclasses. */
    protected FullHeapContract() {}

    /**
     * The store, which is running.
     *
     * @return an address for {@link LockClient#connect(String)}
     * @throws Exception if it is not there
     */
    protected abstract String uri() throws Exception;

    /**
     * How long the heap is full.
     *
     * @return by default twice the lease
     */
    protected Duration full() {
        return lease().multipliedBy(2);
    }

    /**
     * The lease.
     *
     * @return by default two seconds
     */
    protected Duration lease() {
        return Duration.ofSeconds(2);
    }

    @Test
    @DisplayName(
            "A process whose heap was full keeps its locks or reports their loss, and locks as before when there is memory")
    void heapWasFull_locksAsBefore() throws Exception {
        PauseMeter.judge(lease(), this::filled);
    }

    private void filled() throws Exception {
        HouseReport.reset();
        LockClientOptions options = LockClientOptions.builder()
                .lockOptions(LockOptions.builder().lease(lease()).build())
                .build();
        String uri = uri();
        try (LockClient other = Waits.eventually(() -> LockClient.connect(uri, options));
                BystanderLocks bystanders = BystanderLocks.hold(other, BYSTANDERS, lease());
                ClientProcess process = ClientProcess.start(uri(), lease(), "-Xmx40m", VERIFIED)) {
            new Run(other, process).run();
            bystanders.assertHeld();
        }
    }

    /** No pause of the machine excuses this, so it is no failure that is judged by pauses. */
    private static final class TwoHolders extends Error {
        private static final long serialVersionUID = 1;

        TwoHolders(List<String> violations) {
            super(String.join("\n", violations));
        }
    }

    /** One process whose heap is full, and a client that contends with it. */
    private final class Run {
        private final String prefix = "heap-" + RUNS.incrementAndGet() + "-";
        private final List<String> held = new ArrayList<>();
        private final List<String> contended = new ArrayList<>();
        private final List<Contender> rivals = new ArrayList<>();
        private final List<Thread> threads = new ArrayList<>();
        private final LockClient other;
        private final ClientProcess process;

        Run(LockClient other, ClientProcess process) {
            this.other = other;
            this.process = process;
        }

        void run() throws Exception {
            for (int i = 0; i < HELD; i++) {
                held.add(prefix + "held-" + i);
                process.hold(held.get(i));
            }
            for (int i = 0; i < CONTENDED; i++) {
                contend(prefix + "contended-" + i);
            }
            warmUp();
            int failures = process.fill(full());
            ClientProcess.Report after = process.report();
            System.out.printf("full heap: %d %s%n  %s%n", failures, after.contentions(), after.threadEnds());
            after.holdings().forEach(each -> System.out.println("  " + each));
            assertThat(after.contentions().stream()
                            .mapToLong(ClientProcess.Contention::withoutMemory)
                            .sum())
                    .as("calls of the library that failed for want of memory")
                    .isPositive();
            bothGoOn(after);
            rest();
            try {
                judge(process.report());
            } catch (AssertionError e) {
                process.diagnosis().forEach(System.out::println);
                throw e;
            }
            goesOn();
        }

        private void contend(String name) {
            contended.add(name);
            for (int j = 0; j < THREADS; j++) {
                process.contend(name);
            }
            Contender rival = new Contender(other.lock(name));
            rivals.add(rival);
            Thread thread = new Thread(rival, "rival for " + name);
            thread.setDaemon(true);
            thread.start();
            threads.add(thread);
        }

        private void warmUp() {
            Waits.until(
                    "claims of all",
                    () -> process.report().contentions().stream().allMatch(each -> each.claims() >= WARM_CLAIMS)
                            && rivals.stream().allMatch(each -> each.claims() >= WARM_CLAIMS));
        }

        /** Each thread of the process, and each rival, has the lock again. */
        private void bothGoOn(ClientProcess.Report before) throws InterruptedException {
            int[] claims = rivals.stream().mapToInt(Contender::claims).toArray();
            List<ClientProcess.Report> latest = new ArrayList<>();
            try {
                Waits.until("claims of all, after the heap was full", () -> {
                    ClientProcess.Report now = process.report();
                    latest.add(0, now);
                    for (int i = 0; i < now.contentions().size(); i++) {
                        if (now.contentions().get(i).claims()
                                <= before.contentions().get(i).claims()) {
                            return false;
                        }
                    }
                    for (int i = 0; i < claims.length; i++) {
                        if (rivals.get(i).claims() <= claims[i]) {
                            return false;
                        }
                    }
                    return true;
                });
            } catch (RuntimeException e) {
                process.diagnosis().forEach(System.out::println);
                throw new AssertionError(
                        "before " + before.contentions() + ", after "
                                + latest.get(0).contentions(),
                        e);
            }
        }

        private void rest() throws InterruptedException {
            rivals.forEach(Contender::rest);
            process.rest();
            for (Thread each : threads) {
                each.join(PATIENCE.toMillis());
            }
        }

        private void judge(ClientProcess.Report report) {
            HistoryChecker history = new HistoryChecker();
            rivals.forEach(rival -> rival.tell(each -> add(history, each)));
            report.claims().forEach(each -> add(history, each));
            if (!history.violations().isEmpty()) {
                throw new TwoHolders(history.violations());
            }
            for (String name : held) {
                Holding.Report holding = report.holding(name);
                assertThat(holding.valid() || holding.reason() != null)
                        .as("'%s' is valid, or was lost for a reason: %s", name, holding)
                        .isTrue();
            }
            assertThat(rivals).as("failures of the client that had memory").allMatch(each -> each.failures() == 0);
        }

        private void add(HistoryChecker history, Contender.Claim claim) {
            history.add(claim.name(), claim.token(), claim.startNanos(), claim.endNanos());
        }

        /** What is valid is renewed, waiters are served, and nothing stays held. */
        private void goesOn() throws Exception {
            String next = prefix + "next";
            Lease before = other.lock(next).acquire(PATIENCE);
            process.waitFor(next);
            ClientProcess.Report now = process.report();
            awaitLeases(2);
            before.close();
            process.awaitGrant(next);
            ClientProcess.Report later = process.report();
            for (String name : held) {
                assertThat(later.holding(name).valid())
                        .as("'%s' two leases later: %s", name, later.holding(name))
                        .isEqualTo(now.holding(name).valid());
            }
            process.closeClient();
            List<String> all = new ArrayList<>(held);
            all.addAll(contended);
            all.add(next);
            for (String name : all) {
                other.lock(name)
                        .tryAcquire()
                        .orElseThrow(() -> new AssertionError("'" + name + "' is held after the process closed"))
                        .close();
            }
        }

        private void awaitLeases(int count) {
            long endNanos = System.nanoTime() + lease().toNanos() * count;
            while (System.nanoTime() - endNanos < 0) {
                LockSupport.parkNanos(5_000_000);
            }
        }
    }
}
