package dev.holdfast.chaos.client;

import dev.holdfast.chaos.history.EventLog;
import dev.holdfast.chaos.history.OpKind;
import dev.holdfast.chaos.history.Outcome;
import dev.holdfast.chaos.register.Register;
import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.Renewal;
import java.io.IOException;
import java.time.Duration;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One thread that acquires, works and releases, in all the ways there are. The seed decides what it does next. */
final class Worker implements Runnable {
    private static final Logger LOG = LoggerFactory.getLogger(Worker.class);
    private static final long STEP_MILLIS = 5;

    private final ClientConfig config;
    private final LockClient client;
    private final EventLog log;
    private final int thread;
    private final BooleanSupplier stopped;
    private final ExecutorService others;
    private final RegisterClient register;
    private final SplittableRandom random;

    Worker(
            ClientConfig config,
            LockClient client,
            EventLog log,
            int thread,
            BooleanSupplier stopped,
            ExecutorService others)
            throws IOException {
        this.config = config;
        this.client = client;
        this.log = log;
        this.thread = thread;
        this.stopped = stopped;
        this.others = others;
        this.register = new RegisterClient(config.controlPort());
        this.random = new SplittableRandom(config.seed()
                + 1_000_003L * config.process().client()
                + 10_007L * config.process().incarnation()
                + thread);
    }

    @Override
    public void run() {
        try (register) {
            while (!stopped.getAsBoolean()) {
                step();
                if (!config.isThroughput()) {
                    Thread.sleep(random.nextInt(1, 20));
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (IOException e) {
            // The controller has gone.
        }
    }

    private void step() throws IOException, InterruptedException {
        int fifo = config.fifoNames();
        boolean inOrder = thread < fifo;
        OpKind kind = inOrder ? OpKind.FIFO : kind(random.nextInt(100));
        int name = inOrder
                ? config.names() - fifo + thread
                : Math.min(random.nextInt(config.names() - fifo), random.nextInt(config.names() - fifo));
        Hold hold = new Hold(log, thread, name, kind);
        try {
            perform(kind, lock(kind, name), name, hold);
        } catch (RuntimeException | java.util.concurrent.ExecutionException e) {
            Outcome outcome = Hold.outcome(e);
            hold.failed(outcome);
            if (outcome == Outcome.OTHER) {
                LOG.error("unexpected at lock {}: {}", name, kind, e);
            }
        }
    }

    private static OpKind kind(int percent) {
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

    private DistributedLock lock(OpKind kind, int name) {
        LockOptions.Builder options = LockOptions.builder().lease(Duration.ofMillis(config.leaseMillis()));
        if (kind == OpKind.NOT_RENEWED) {
            options.renewal(Renewal.NONE);
        }
        if (kind == OpKind.FIFO) {
            options.fair(true);
        }
        return client.lock(ClientConfig.lockName(name), options.build());
    }

    private void perform(OpKind kind, DistributedLock lock, int name, Hold hold)
            throws IOException, InterruptedException, java.util.concurrent.ExecutionException {
        switch (kind) {
            case TRY_LOCK -> {
                if (lock.tryLock()) {
                    locked(lock, name, hold);
                } else {
                    hold.failed(Outcome.BUSY);
                }
            }
            case LOCK -> {
                lock.lock();
                locked(lock, name, hold);
            }
            case TIMED, NOT_RENEWED -> {
                Optional<Lease> lease = lock.tryAcquire(patience());
                long nanos = System.nanoTime();
                if (lease.isEmpty()) {
                    hold.failed(Outcome.BUSY);
                } else {
                    hold.acquired(nanos, lease.get());
                    if (kind == OpKind.NOT_RENEWED && !config.isThroughput()) {
                        work(null, name, hold, lease.get(), aroundLease(140), true);
                    } else {
                        work(null, name, hold, lease.get(), holdMillis(), false);
                    }
                    release(hold, lease.get()::close);
                }
            }
            case FIFO -> {
                Lease lease = lock.acquire(Duration.ofSeconds(10));
                hold.acquired(System.nanoTime(), lease);
                work(null, name, hold, lease, config.isThroughput() ? 0 : random.nextInt(50, 350), false);
                release(hold, lease::close);
            }
            case CLOSED_ELSEWHERE -> {
                Lease lease = lock.acquire();
                hold.acquired(System.nanoTime(), lease);
                work(null, name, hold, lease, holdMillis(), false);
                others.submit(() -> release(hold, lease::close)).get();
            }
            case ASYNC -> async(lock, name, hold);
            case LEFT_TO_CLOSE -> throw new IllegalStateException("not for workers");
        }
    }

    private void locked(DistributedLock lock, int name, Hold hold) throws IOException, InterruptedException {
        long nanos = System.nanoTime();
        boolean released = false;
        try {
            Lease held = lock.held().orElseThrow();
            hold.acquired(nanos, held);
            work(lock, name, hold, held, holdMillis(), false);
            released = true;
            release(hold, lock::unlock);
        } finally {
            if (!released) {
                unlockQuietly(lock);
            }
        }
    }

    private static void unlockQuietly(DistributedLock lock) {
        try {
            lock.unlock();
        } catch (RuntimeException e) {
            // The reason is told already.
        }
    }

    private void async(DistributedLock lock, int name, Hold hold)
            throws IOException, InterruptedException, java.util.concurrent.ExecutionException {
        CompletableFuture<Lease> future = lock.acquireAsync(patience());
        if (random.nextInt(100) < 30) {
            Thread.sleep(random.nextInt(30));
            if (future.cancel(false)) {
                hold.failed(Outcome.CANCELLED);
                return;
            }
        }
        Lease lease = future.get();
        hold.acquired(System.nanoTime(), lease);
        work(null, name, hold, lease, holdMillis(), false);
        others.submit(() -> release(hold, lease::close)).get();
    }

    private static void release(Hold hold, Runnable release) {
        hold.release();
        try {
            release.run();
            hold.released(Outcome.OK);
        } catch (RuntimeException e) {
            hold.released(Hold.outcome(e));
        }
    }

    /** The critical section. A careless holder writes without looking at its lease again, which its token makes harmless. */
    private void work(
            @org.jspecify.annotations.Nullable DistributedLock lock,
            int name,
            Hold hold,
            Lease lease,
            long plannedMillis,
            boolean careless)
            throws IOException, InterruptedException {
        long holder = ((long) config.process().client() << Register.CLIENT_SHIFT)
                | ((long) config.process().incarnation() << 32)
                | hold.operation;
        RegisterClient.Seen seen = register.read(name, lease.token(), holder);
        long millis = Math.max(plannedMillis, seen.stayMillis());
        boolean again = random.nextInt(10) == 0 && lock != null && reenter(lock, hold);
        try {
            long start = System.nanoTime();
            boolean valid = hold.confirm(lease);
            while ((valid || careless) && System.nanoTime() - start < TimeUnit.MILLISECONDS.toNanos(millis)) {
                Thread.sleep(Math.min(STEP_MILLIS, millis));
                valid = hold.confirm(lease);
            }
        } finally {
            if (again && lock != null) {
                hold.exit();
                unlockQuietly(lock);
            }
        }
        register.write(name, lease.token(), holder, seen);
        hold.confirm(lease);
    }

    /** Only a hold by {@code lock} can be entered again. */
    private static boolean reenter(DistributedLock lock, Hold hold) {
        hold.reenterCall();
        try {
            boolean entered = lock.tryLock();
            if (entered) {
                lock.held().ifPresent(hold::reentered);
            }
            return entered;
        } catch (RuntimeException e) {
            return false; // Lost meanwhile.
        }
    }

    private Duration patience() {
        return Duration.ofMillis(random.nextInt(20, 3_000));
    }

    private long holdMillis() {
        if (config.isThroughput()) {
            return 0;
        }
        int percent = random.nextInt(100);
        if (percent < config.longPercent()) {
            return aroundLease(250);
        }
        return percent < 90 ? random.nextInt(25) : random.nextInt(30, 300);
    }

    private long aroundLease(int mostPercent) {
        return config.leaseMillis() * random.nextInt(50, mostPercent) / 100;
    }
}
