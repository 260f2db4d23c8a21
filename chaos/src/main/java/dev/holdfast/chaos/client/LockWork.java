package dev.holdfast.chaos.client;

import dev.holdfast.chaos.history.OpKind;
import dev.holdfast.chaos.history.Outcome;
import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.Renewal;
import java.io.IOException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.jspecify.annotations.Nullable;

/** Acquires locks in all the ways there are. */
final class LockWork implements Work {
    private final Workbench bench;

    LockWork(Workbench bench) {
        this.bench = bench;
    }

    @Override
    public void step() throws IOException, InterruptedException {
        boolean inOrder = bench.isInOrder();
        OpKind kind = inOrder ? OpKind.FIFO : kind(bench.random().nextInt(100));
        int name = bench.drawName();
        Hold hold = bench.hold(name, kind);
        bench.attempt(hold, () -> perform(kind, lock(kind, name), name, hold));
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
        LockOptions.Builder options =
                LockOptions.builder().lease(Duration.ofMillis(bench.config().leaseMillis()));
        if (kind == OpKind.NOT_RENEWED) {
            options.renewal(Renewal.NONE);
        }
        if (kind == OpKind.FIFO) {
            options.fair(true);
        }
        return bench.client().lock(ClientConfig.lockName(name), options.build());
    }

    private void perform(OpKind kind, DistributedLock lock, int name, Hold hold)
            throws IOException, InterruptedException, ExecutionException {
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
                Optional<Lease> lease = lock.tryAcquire(bench.patience());
                long nanos = System.nanoTime();
                if (lease.isEmpty()) {
                    hold.failed(Outcome.BUSY);
                } else {
                    hold.acquired(nanos, lease.get());
                    if (kind == OpKind.NOT_RENEWED && !bench.config().isThroughput()) {
                        work(null, name, hold, lease.get(), bench.aroundLease(140), true);
                    } else {
                        work(null, name, hold, lease.get(), bench.holdMillis(), false);
                    }
                    Workbench.release(hold, lease.get()::close);
                }
            }
            case FIFO -> {
                Lease lease = lock.acquire(Duration.ofSeconds(10));
                hold.acquired(System.nanoTime(), lease);
                work(null, name, hold, lease, bench.fifoHoldMillis(), false);
                Workbench.release(hold, lease::close);
            }
            case CLOSED_ELSEWHERE -> {
                Lease lease = lock.acquire();
                hold.acquired(System.nanoTime(), lease);
                work(null, name, hold, lease, bench.holdMillis(), false);
                bench.releaseElsewhere(hold, lease::close);
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
            work(lock, name, hold, held, bench.holdMillis(), false);
            released = true;
            Workbench.release(hold, lock::unlock);
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
            throws IOException, InterruptedException, ExecutionException {
        CompletableFuture<Lease> future = lock.acquireAsync(bench.patience());
        if (bench.random().nextInt(100) < 30) {
            Thread.sleep(bench.random().nextInt(30));
            if (future.cancel(false)) {
                hold.failed(Outcome.CANCELLED);
                return;
            }
        }
        Lease lease = future.get();
        hold.acquired(System.nanoTime(), lease);
        work(null, name, hold, lease, bench.holdMillis(), false);
        bench.releaseElsewhere(hold, lease::close);
    }

    /** The critical section. A careless holder writes without looking at its lease again, which its token makes harmless. */
    private void work(
            @Nullable DistributedLock lock, int name, Hold hold, Lease lease, long plannedMillis, boolean careless)
            throws IOException, InterruptedException {
        long holder = bench.holder(hold);
        RegisterClient.Seen seen = bench.register().read(name, lease.token(), holder);
        long millis = Math.max(plannedMillis, seen.stayMillis());
        boolean again = bench.random().nextInt(10) == 0 && lock != null && reenter(lock, hold);
        try {
            Workbench.stay(hold, lease, millis, careless);
        } finally {
            if (again && lock != null) {
                hold.exit();
                unlockQuietly(lock);
            }
        }
        bench.register().write(name, lease.token(), holder, seen);
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
}
