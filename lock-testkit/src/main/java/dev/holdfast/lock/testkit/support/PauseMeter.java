package dev.holdfast.lock.testkit.support;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * Measures the pauses of this machine and JVM: by how much a thread that parks for 5 ms, again and again, came back late in total within a
 * lease. A renewal needs several threads one after the other, so many short pauses cost as much as a long one.
 */
public final class PauseMeter implements AutoCloseable {
    private static final long PARK_NANOS = 5_000_000;
    private static final int TRIES = 3;

    private final long leaseNanos;
    private final LongSupplier clock;
    private final Thread thread = new Thread(this::measure, "pause-meter");
    private final ReentrantLock mutex = new ReentrantLock();
    private final Deque<Pause> latest = new ArrayDeque<>();
    private long parkedNanos;
    private long longestNanos;
    private volatile boolean over;

    /** When one ended, and how long it was. */
    private record Pause(long endNanos, long nanos) {}

    PauseMeter(Duration lease, LongSupplier clock) {
        this.leaseNanos = lease.toNanos();
        this.clock = clock;
        parkedNanos = clock.getAsLong();
    }

    /**
     * Begins to measure.
     *
     * @param lease the time within which pauses are added up
     * @return the meter, with a thread of its own until it is closed
     */
    public static PauseMeter start(Duration lease) {
        PauseMeter meter = new PauseMeter(lease, System::nanoTime);
        meter.thread.setDaemon(true);
        meter.thread.start();
        return meter;
    }

    private void measure() {
        while (!over) {
            LockSupport.parkNanos(PARK_NANOS);
            woke();
        }
    }

    /** The thread has come back, and parks again. */
    void woke() {
        mutex.lock();
        try {
            longest();
            long now = clock.getAsLong();
            latest.add(new Pause(now, now - parkedNanos - PARK_NANOS));
            parkedNanos = now;
        } finally {
            mutex.unlock();
        }
    }

    /**
     * Returns the longest pause so far, one that is still on included.
     *
     * @return the greatest sum of pauses within a lease, not negative
     */
    public Duration longest() {
        mutex.lock();
        try {
            long now = clock.getAsLong();
            latest.removeIf(pause -> now - pause.endNanos > leaseNanos);
            long nanos = now - parkedNanos - PARK_NANOS;
            for (Pause each : latest) {
                nanos += Math.max(0, each.nanos);
            }
            longestNanos = Math.max(longestNanos, nanos);
            return Duration.ofNanos(longestNanos);
        } finally {
            mutex.unlock();
        }
    }

    /** Ends the thread. */
    @Override
    public void close() {
        over = true;
        LockSupport.unpark(thread);
    }

    /**
     * Runs a test of leases whose failure proves nothing if the machine paused meanwhile. A failure counts at once unless the machine paused
     * for more than a third of a lease; then the test runs again. Three such failures in a row fail as well.
     *
     * @param lease the length of the leases
     * @param test the test, which leaves nothing behind that a second run of it would meet
     * @throws Exception what the test threw
     */
    public static void judge(Duration lease, Test test) throws Exception {
        judge(lease, test, () -> start(lease));
    }

    static void judge(Duration lease, Test test, Supplier<PauseMeter> meters) throws Exception {
        Duration tolerated = lease.dividedBy(3);
        List<Duration> pauses = new ArrayList<>();
        while (true) {
            PauseMeter meter = meters.get();
            try (meter) {
                test.run();
                return;
            } catch (AssertionError | Exception e) {
                Duration pause = meter.longest();
                pauses.add(pause);
                if (pause.compareTo(tolerated) > 0 && pauses.size() < TRIES) {
                    System.out.printf("not judged: the machine paused for %d ms, and then: %s%n", pause.toMillis(), e);
                    continue;
                }
                e.addSuppressed(new AssertionError(
                        "longest pause of the machine in each run: " + pauses + ", tolerated: " + tolerated));
                throw e;
            }
        }
    }

    /**
     * Runs a test with leases of a length. A failure counts unless the machine paused for more than a third of a lease.
     *
     * @param lease the length of the leases
     * @param last whether a failure counts in any case
     * @param test the test, which gets that length
     * @return false if it failed and the machine paused
     * @throws Exception what the test threw, if it counts
     */
    public static boolean judgeUnlessPaused(Duration lease, boolean last, TestOfLease test) throws Exception {
        return judgeUnlessPaused(lease, last, test, () -> start(lease));
    }

    static boolean judgeUnlessPaused(Duration lease, boolean last, TestOfLease test, Supplier<PauseMeter> meters)
            throws Exception {
        PauseMeter meter = meters.get();
        try (meter) {
            test.run(lease);
            return true;
        } catch (AssertionError | Exception e) {
            Duration pause = meter.longest();
            if (last || pause.compareTo(lease.dividedBy(3)) <= 0) {
                e.addSuppressed(
                        new AssertionError("longest pause of the machine: " + pause + ", with leases of " + lease));
                throw e;
            }
            System.out.printf(
                    "not judged with leases of %d ms: the machine paused for %d ms, and then: %s%n",
                    lease.toMillis(), pause.toMillis(), e);
            return false;
        }
    }

    /** A test that may throw anything, with leases of a length. */
    @FunctionalInterface
    public interface TestOfLease {
        /**
         * Runs it.
         *
         * @param lease the length of the leases
         * @throws Exception if it fails
         */
        void run(Duration lease) throws Exception;
    }

    /** A test that may throw anything. */
    @FunctionalInterface
    public interface Test {
        /**
         * Runs it.
         *
         * @throws Exception if it fails
         */
        void run() throws Exception;
    }
}
