package dev.holdfast.chaos.client;

import dev.holdfast.chaos.history.EventLog;
import dev.holdfast.chaos.history.OpKind;
import dev.holdfast.chaos.history.Outcome;
import dev.holdfast.chaos.register.Register;
import dev.holdfast.lock.Demand;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.Renewal;
import java.io.IOException;
import java.time.Duration;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What a worker thread works with, and what all work has in common.
 *
 * @param config of the process
 * @param client the lock client of the process
 * @param log where everything is written down
 * @param thread the worker's number
 * @param others threads for the work of another thread
 * @param register what the locks guard
 * @param random decides what comes next
 */
record WorkerContext(
        ClientConfig config,
        LockClient client,
        EventLog log,
        int thread,
        ExecutorService others,
        RegisterClient register,
        SplittableRandom random) {
    private static final Logger LOG = LoggerFactory.getLogger(WorkerContext.class);
    private static final long STEP_MILLIS = 5;

    /** How long a client waits in order. */
    static final Duration FIFO_PATIENCE = Duration.ofSeconds(10);

    /** Whether this worker is the only one of its client that uses its name, and waits in order. */
    boolean isInOrder() {
        return thread < config.fifoNames();
    }

    /** Draws the name of the next step, low numbers more often; a worker that waits in order has its own. */
    int drawName() {
        int fifo = config.fifoNames();
        return isInOrder()
                ? config.names() - fifo + thread
                : Math.min(random.nextInt(config.names() - fifo), random.nextInt(config.names() - fifo));
    }

    /** Draws how the next step acquires. */
    OpKind drawKind() {
        if (isInOrder()) {
            return OpKind.FIFO;
        }
        int percent = random.nextInt(100);
        if (percent < 20) {
            return OpKind.TRY_LOCK;
        }
        if (percent < 45) {
            return OpKind.TIMED;
        }
        if (percent < 65) {
            return OpKind.LOCK;
        }
        if (percent < 78) {
            return OpKind.ASYNC;
        }
        return percent < 95 ? OpKind.CLOSED_ELSEWHERE : OpKind.NOT_RENEWED;
    }

    /** The options of an acquisition. */
    LockOptions options(OpKind kind) {
        LockOptions.Builder options = LockOptions.builder().lease(Duration.ofMillis(config.leaseMillis()));
        if (kind == OpKind.NOT_RENEWED) {
            options.renewal(Renewal.NONE);
        }
        if (kind == OpKind.FIFO) {
            options.fair(true);
        }
        return options.build();
    }

    /** Begins an operation. */
    Hold hold(int name, OpKind kind) {
        return new Hold(log, thread, name, kind);
    }

    /** Begins an operation that asks for something else than the lock alone. */
    Hold hold(int name, OpKind kind, Demand demand) {
        return new Hold(log, thread, name, kind, demand);
    }

    /** Acquires, works and releases; writes down how the acquisition failed, if it did. */
    void attempt(Hold hold, Work.Attempt attempt) throws IOException, InterruptedException {
        try {
            attempt.run();
        } catch (RuntimeException | ExecutionException e) {
            hold.failed(Hold.outcome(e));
            complain(hold, e);
        }
    }

    /** Logs a failure that is not documented. */
    void complain(Hold hold, Exception failure) {
        if (Hold.outcome(failure) == Outcome.OTHER) {
            LOG.error("unexpected at {}", hold, failure);
        }
    }

    /** The number of a holder in the register. */
    long holder(Hold hold) {
        return ((long) config.process().client() << Register.CLIENT_SHIFT)
                | ((long) config.process().incarnation() << 32)
                | hold.operation;
    }

    /** Stays in the critical section, and looks at the lease every few milliseconds. */
    static void stay(Hold hold, Lease lease, long millis, boolean careless) throws InterruptedException {
        long start = System.nanoTime();
        boolean valid = hold.confirm(lease);
        while ((valid || careless) && System.nanoTime() - start < TimeUnit.MILLISECONDS.toNanos(millis)) {
            Thread.sleep(Math.min(STEP_MILLIS, millis));
            valid = hold.confirm(lease);
        }
    }

    static void release(Hold hold, Runnable release) {
        hold.release();
        try {
            release.run();
            hold.released(Outcome.OK);
        } catch (RuntimeException e) {
            hold.released(Hold.outcome(e));
        }
    }

    /** Waits for the future, unless it draws to cancel it; then all the rest. */
    void async(CompletableFuture<? extends Lease> future, Section section)
            throws IOException, InterruptedException, ExecutionException {
        if (random.nextInt(100) < 30) {
            Thread.sleep(random.nextInt(30));
            if (future.cancel(false)) {
                section.hold().failed(Outcome.CANCELLED);
                return;
            }
        }
        Lease lease = future.get();
        section.hold().acquired(System.nanoTime(), lease);
        section.pass(lease, holdMillis(), false);
        releaseElsewhere(section.hold(), lease::close);
    }

    /** A critical section that lasts as that kind does: what is not renewed is held until about its end, carelessly. */
    void pass(Section section, Lease lease, OpKind kind) throws IOException, InterruptedException {
        boolean careless = kind == OpKind.NOT_RENEWED && !config.isThroughput();
        section.pass(lease, careless ? aroundLease(140) : holdMillis(), careless);
    }

    /** Another thread releases. */
    void releaseElsewhere(Hold hold, Runnable release) throws InterruptedException, ExecutionException {
        others.submit(() -> release(hold, release)).get();
    }

    Duration patience() {
        return Duration.ofMillis(random.nextInt(20, 3_000));
    }

    long holdMillis() {
        if (config.isThroughput()) {
            return 0;
        }
        int percent = random.nextInt(100);
        if (percent < config.longPercent()) {
            return aroundLease(250);
        }
        return percent < 90 ? random.nextInt(25) : random.nextInt(30, 300);
    }

    long fifoHoldMillis() {
        return config.isThroughput() ? 0 : random.nextInt(50, 350);
    }

    long aroundLease(int mostPercent) {
        return config.leaseMillis() * random.nextInt(50, mostPercent) / 100;
    }
}
