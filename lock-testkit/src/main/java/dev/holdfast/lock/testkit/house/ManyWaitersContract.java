package dev.holdfast.lock.testkit.house;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.testkit.support.PauseMeter;
import dev.holdfast.lock.testkit.support.Waits;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/**
 * Ten thousand waiters of four processes: what one of them costs must not grow with their number. Prints the curves. A subclass says
 * on which store. Public for those in other modules.
 */
@House("scale:processes")
public abstract class ManyWaitersContract {
    private static final int PROCESSES = 4;
    private static final int BYSTANDERS = 10;
    static final int[] SIZES = {1_000, 3_000, 10_000};
    private static final Duration LEASE = Duration.ofSeconds(10);

    /** One of the most waiters may cost so many times what one of the fewest does: linear growth, and what a measurement varies by. */
    private static final double LINEAR = 2;

    /** Less than that is lost in what a process does besides. */
    private static final double LEAST_MICROS = 50;

    /** How long the waiters are left alone, in milliseconds: the first time until all are in the queue. */
    private static final long REST_MILLIS = 4_000;

    /** Locked by the one that measures: thousands of waiters of another store would take most of the time of the processors. */
    private static final Path MEASURING = Path.of(System.getProperty("java.io.tmpdir"), "holdfast-many-waiters");

    private static final AtomicInteger RUNS = new AtomicInteger();

    /** For subclasses. */
    protected ManyWaitersContract() {}

    /**
     * The store, which is running.
     *
     * @return an address for {@link LockClient#connect(String)}
     * @throws Exception if it is not there
     */
    protected abstract String uri() throws Exception;

    /** What one waiter of a size cost in processor time of the clients: to queue up and wait for a while, and to be served. */
    private record Cost(int waiters, double waitMicros, double serveMicros, long servedMillis) {
        @Override
        public String toString() {
            return String.format(
                    "%,d waiters: %.0f µs each to queue up and wait for %d s, %.0f µs to be served; all served in %,d ms",
                    waiters, waitMicros, 2 * REST_MILLIS / 1_000, serveMicros, servedMillis);
        }
    }

    @Test
    @DisplayName("10,000 waiters of four processes for one name: each costs what one of 1,000 costs")
    void waitersForOneName_costIsLinear() throws Exception {
        judgeCurve(0, SIZES);
    }

    /** Judges the curve of a lock, or of permits if the limit is not zero; the sizes ascend. */
    final void judgeCurve(int limit, int... sizes) throws Exception {
        try (FileChannel file = FileChannel.open(MEASURING, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
                FileLock alone = file.lock()) {
            assertThat(alone.isValid()).isTrue();
            PauseMeter.judge(LEASE, () -> curve(limit, sizes));
        }
    }

    private void curve(int limit, int... sizes) throws Exception {
        HouseReport.reset();
        LockClientOptions options = LockClientOptions.builder()
                .lockOptions(LockOptions.builder().lease(LEASE).build())
                .build();
        List<ClientProcess> processes = new ArrayList<>();
        String uri = uri();
        try (LockClient client = Waits.eventually(() -> LockClient.connect(uri, options))) {
            for (int i = 0; i < PROCESSES; i++) {
                processes.add(ClientProcess.start(uri(), LEASE, "-Xmx256m"));
            }
            measure(client, processes, limit, sizes[0]); // the processes compile the code on the way
            List<Cost> costs = new ArrayList<>();
            for (int size : sizes) {
                costs.add(measure(client, processes, limit, size));
                System.out.println((limit == 0 ? "one name, " : limit + " permits, ") + costs.get(costs.size() - 1));
            }
            Cost fewest = costs.get(0);
            Cost most = costs.get(costs.size() - 1);
            assertLinear("to queue up and wait", fewest.waitMicros, most.waitMicros, costs);
            assertLinear("to be served", fewest.serveMicros, most.serveMicros, costs);
        } finally {
            processes.forEach(ClientProcess::close);
        }
    }

    private static void assertLinear(String what, double fewest, double most, List<Cost> costs) {
        assertThat(most).as("µs %s: %s", what, costs).isLessThanOrEqualTo(LINEAR * Math.max(fewest, LEAST_MICROS));
    }

    private static Cost measure(LockClient client, List<ClientProcess> processes, int limit, int waiters)
            throws Exception {
        String name = "crowd-" + ProcessHandle.current().pid() + "-" + RUNS.incrementAndGet();
        try (BystanderLocks bystanders = BystanderLocks.hold(client, BYSTANDERS, LEASE)) {
            Lease held = limit == 0
                    ? client.lock(name).acquire()
                    : client.semaphore(name, limit).acquire(limit);
            long begun = processorMillis(processes);
            for (ClientProcess each : processes) {
                each.crowd(name, limit, waiters / processes.size());
            }
            for (ClientProcess each : processes) {
                each.awaitQueued();
            }
            Thread.sleep(REST_MILLIS);
            long queued = processorMillis(processes);
            Thread.sleep(REST_MILLIS);
            long rested = processorMillis(processes);
            long start = System.nanoTime();
            held.close();
            for (ClientProcess each : processes) {
                each.awaitServed();
            }
            long millis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start);
            long served = processorMillis(processes);
            bystanders.assertHeld();
            double perMilli = (double) (rested - queued) / REST_MILLIS; // of all, while none of them is served
            return new Cost(
                    waiters,
                    micros(rested - begun, waiters),
                    micros(served - rested - perMilli * millis / 2, waiters), // half of them wait on average
                    millis);
        }
    }

    private static double micros(double millis, int waiters) {
        return Math.max(0, millis * 1_000 / waiters);
    }

    private static long processorMillis(List<ClientProcess> processes) throws InterruptedException {
        long all = 0;
        for (ClientProcess each : processes) {
            all += each.processorMillis();
        }
        return all;
    }
}
