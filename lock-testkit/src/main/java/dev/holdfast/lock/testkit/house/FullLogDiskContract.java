package dev.holdfast.lock.testkit.house;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.testkit.support.PauseMeter;
import dev.holdfast.lock.testkit.support.Waits;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The disk of a process is full, so that its log can write no line: neither a holder nor a waiter notices. A subclass says on which
 * store. Public for those in other modules.
 */
@House("process:disk")
public abstract class FullLogDiskContract {
    private static final Duration LEASE = Duration.ofMillis(1_500);
    private static final Duration PATIENCE = Duration.ofMinutes(2);
    private static final int BYSTANDERS = 10;
    private static final int LINES = 20;
    private static final AtomicInteger RUNS = new AtomicInteger();

    /** For subclasses. */
    protected FullLogDiskContract() {}

    /**
     * The store, which is running.
     *
     * @return an address for {@link LockClient#connect(String)}
     * @throws Exception if it is not there
     */
    protected abstract String uri() throws Exception;

    @Test
    @DisplayName("A process whose log throws, as it cannot be written, keeps its locks and is served")
    void logThrows_locksAreKept_andWaitersServed() throws Exception {
        PauseMeter.judge(LEASE, () -> keepsLocks(true));
    }

    @Test
    @Tag(House.SLOW)
    @DisplayName("A process whose log cannot be written, and is silent about that, keeps its locks and is served")
    void logIsSilent_locksAreKept_andWaitersServed() throws Exception {
        PauseMeter.judge(LEASE, () -> keepsLocks(false));
    }

    private void keepsLocks(boolean throwing) throws Exception {
        HouseReport.reset();
        String prefix = "full-log-" + RUNS.incrementAndGet() + "-";
        LockClientOptions options = LockClientOptions.builder()
                .lockOptions(LockOptions.builder().lease(LEASE).build())
                .build();
        String uri = uri();
        try (LockClient other = Waits.eventually(() -> LockClient.connect(uri, options));
                BystanderLocks bystanders = BystanderLocks.hold(other, BYSTANDERS, LEASE);
                ClientProcess process = ClientProcess.startWithFullLog(uri(), LEASE, throwing)) {
            process.grumble();
            process.hold(prefix + "held");
            Lease before = other.lock(prefix + "busy").acquire(PATIENCE);
            process.waitFor(prefix + "busy");
            process.contend(prefix + "contended");
            long startNanos = System.nanoTime();
            Waits.until(
                    "lines that cannot be written, for more than a lease",
                    () -> process.report().failedLogLines() >= LINES
                            && System.nanoTime() - startNanos > LEASE.toNanos() * 3 / 2);
            before.close();
            assertThat(process.awaitGrant(prefix + "busy")).isGreaterThan(before.token());
            process.rest();
            ClientProcess.Report report = process.report();
            for (String name : new String[] {"held", "busy"}) {
                Holding.Report holding = report.holding(prefix + name);
                assertThat(holding.valid()).as("%s", holding).isTrue();
                assertThat(holding.losses()).as("%s", holding).isZero();
            }
            ClientProcess.Contention contention = report.contentions().get(0);
            assertThat(contention.claims()).as("%s", contention).isPositive();
            assertThat(contention.failures()).as("%s", contention).isZero();
            assertThat(report.threadEnds()).isEmpty();
            process.closeClient();
            other.lock(prefix + "held").tryAcquire().orElseThrow().close();
            bystanders.assertHeld();
        }
    }
}
