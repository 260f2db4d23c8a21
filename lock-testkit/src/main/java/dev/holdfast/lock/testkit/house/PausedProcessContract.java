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
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/**
 * A process with held locks and a waiter is stopped (SIGSTOP) for longer than a lease. A subclass says on which store. Public for those
 * in other modules.
 */
@House("process:pauses")
public abstract class PausedProcessContract {
    private static final Duration PATIENCE = Duration.ofMinutes(2);
    private static final int BYSTANDERS = 10;
    private static final int NAMES = 4;
    private static final AtomicInteger RUNS = new AtomicInteger();

    /** For subclasses. */
    protected PausedProcessContract() {}

    /**
     * The store, which is running.
     *
     * @return an address for {@link LockClient#connect(String)}
     * @throws Exception if it is not there
     */
    protected abstract String uri() throws Exception;

    /**
     * The lease.
     *
     * @return the shortest one that the store supports, or more
     */
    protected Duration lease() {
        return Duration.ofMillis(1_500);
    }

    @Test
    @DisplayName(
            "A process that was stopped for longer than a lease believes in no lock of before, and others have them")
    void process_stoppedForLongerThanALease_hasLostItsLocks() throws Exception {
        PauseMeter.judge(lease(), this::stopped);
    }

    private LockClient newClient() throws Exception {
        LockClientOptions options = LockClientOptions.builder()
                .lockOptions(LockOptions.builder().lease(lease()).build())
                .build();
        String uri = uri();
        return Waits.eventually(() -> LockClient.connect(uri, options));
    }

    private void stopped() throws Exception {
        HouseReport.reset();
        try (LockClient other = newClient();
                LockClient third = newClient();
                BystanderLocks bystanders = BystanderLocks.hold(other, BYSTANDERS, lease());
                ClientProcess process = ClientProcess.start(uri(), lease())) {
            new Run(other, third, process).run();
            bystanders.assertHeld();
        }
    }

    /** One process that is stopped, and two clients that are not. */
    private final class Run {
        private final String prefix = "paused-" + RUNS.incrementAndGet() + "-";
        private final String byThread = prefix + "thread";
        private final String busy = prefix + "busy";
        private final List<String> names = new ArrayList<>();
        private final HistoryChecker history = new HistoryChecker();
        private final List<Lease> followers = new ArrayList<>();
        private final LockClient other;
        private final LockClient third;
        private final ClientProcess process;

        Run(LockClient other, LockClient third, ClientProcess process) {
            this.other = other;
            this.third = third;
            this.process = process;
            for (int i = 0; i < NAMES; i++) {
                names.add(prefix + i);
            }
        }

        void run() throws Exception {
            Lease first = other.lock(busy).acquire(PATIENCE);
            for (String name : names) {
                process.hold(name);
            }
            process.lock(byThread);
            process.waitFor(busy);
            List<CompletableFuture<Lease>> waiting = new ArrayList<>();
            names.forEach(name -> waiting.add(other.lock(name).acquireAsync(PATIENCE)));
            waiting.add(other.lock(byThread).acquireAsync(PATIENCE));
            assertThat(waiting).as("while the process runs").noneMatch(CompletableFuture::isDone);

            process.pause();
            long stoppedNanos = System.nanoTime();
            CompletableFuture<Lease> behind = third.lock(busy).acquireAsync(PATIENCE);
            first.close();
            for (CompletableFuture<Lease> each : waiting) {
                follow(each);
            }
            Lease overtaken = follow(behind);
            assertThat(overtaken.token()).isGreaterThan(first.token());
            awaitLonger(stoppedNanos);
            process.resume();

            process.awaitEnd(byThread);
            judge(awaitLosses(), stoppedNanos);
            assertThat(followers).as("locks of the others, after it went on").allMatch(Lease::isValid);
            goesOn(overtaken);
        }

        private Lease follow(CompletableFuture<Lease> waiting) throws Exception {
            Lease lease = waiting.get(PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
            followers.add(lease);
            assertThat(history.acquired(lease).confirm()).isTrue();
            return lease;
        }

        /** Whatever the others got sooner, the process stands still for longer than its leases. */
        private void awaitLonger(long sinceNanos) {
            while (System.nanoTime() - sinceNanos < lease().toNanos() * 3 / 2) {
                LockSupport.parkNanos(5_000_000);
            }
        }

        /** Its listener runs on a thread that went on when the others did. */
        private ClientProcess.Report awaitLosses() {
            List<ClientProcess.Report> latest = new ArrayList<>();
            Waits.until("its losses are reported", () -> {
                latest.add(0, process.report());
                return latest.get(0).holdings().stream()
                        .filter(each -> !each.name().equals(busy))
                        .allMatch(each -> each.losses() > 0);
            });
            return latest.get(0);
        }

        private void judge(ClientProcess.Report report, long stoppedNanos) {
            List<String> all = new ArrayList<>(names);
            all.add(byThread);
            for (String name : all) {
                Holding.Report holding = report.holding(name);
                assertThat(holding.valid()).as("'%s' is valid", name).isFalse();
                assertThat(holding.validNanos() - stoppedNanos)
                        .as("nanoseconds from its stop until its guarded code last took '%s' for valid", name)
                        .isNegative();
                assertThat(holding.losses())
                        .as("losses of '%s' that a listener saw", name)
                        .isEqualTo(1);
                assertThat(holding.reason()).as("why '%s' was lost", name).isNotNull();
                history.add(name, holding.token(), holding.startNanos(), holding.validNanos());
            }
            assertThat(report.threadEnds()).containsExactly(byThread + " interrupted, lost");
            assertThat(history.violations()).isEmpty();
            assertThat(history.confirmedClaims()).isEqualTo(2L * all.size() + 1);
        }

        /** Its waiter and new calls are served, and nothing stays behind. */
        private void goesOn(Lease overtaken) throws Exception {
            followers.forEach(Lease::close);
            assertThat(process.awaitGrant(busy)).as("its waiter's token").isGreaterThan(overtaken.token());
            for (String name : names) {
                assertThat(process.hold(name + "-again")).isPositive();
            }
            assertThat(process.report().holding(busy).valid()).isTrue();
            process.closeClient();
            for (String name : List.of(busy, names.get(0) + "-again", names.get(0), byThread)) {
                Waits.eventually(() -> third.lock(name).tryAcquire())
                        .orElseThrow(() -> new AssertionError("'" + name + "' is held after the process closed"))
                        .close();
            }
        }
    }
}
