package dev.holdfast.chaos.client;

import dev.holdfast.chaos.history.OpKind;
import dev.holdfast.chaos.history.Outcome;
import dev.holdfast.chaos.history.Workload;
import dev.holdfast.lock.Demand;
import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.DistributedReadWriteLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockOptions;
import java.io.IOException;
import java.util.Optional;
import java.util.concurrent.ExecutionException;

/** Acquires locks, or read-write locks, in all the ways there are. */
final class LockWork implements Work {
    /** How many of a hundred acquisitions of a read-write lock are reads. */
    private static final int READS = 70;

    private static final int DOWNGRADES = 25;

    private final WorkerContext bench;
    private final boolean readsAndWrites;

    LockWork(WorkerContext bench) {
        this.bench = bench;
        this.readsAndWrites = bench.config().workload() == Workload.RW;
    }

    @Override
    public void step() throws IOException, InterruptedException {
        OpKind kind = bench.drawKind();
        int name = bench.drawName();
        boolean reads = readsAndWrites && bench.random().nextInt(100) < READS;
        Hold hold = bench.hold(name, kind, reads ? Demand.SHARED : Demand.EXCLUSIVE);
        Section section = new Section(bench, hold, name, reads);
        bench.attempt(hold, () -> perform(kind, lock(kind, name, reads), section));
    }

    private DistributedLock lock(OpKind kind, int name, boolean reads) {
        String lock = ClientConfig.lockName(name);
        LockOptions options = bench.options(kind);
        if (!readsAndWrites) {
            return bench.client().lock(lock, options);
        }
        DistributedReadWriteLock both = bench.client().readWriteLock(lock, options);
        return reads ? both.readLock() : both.writeLock();
    }

    private void perform(OpKind kind, DistributedLock lock, Section section)
            throws IOException, InterruptedException, ExecutionException {
        Hold hold = section.hold();
        switch (kind) {
            case TRY_LOCK -> {
                if (lock.tryLock()) {
                    locked(lock, section);
                } else {
                    hold.failed(Outcome.BUSY);
                }
            }
            case LOCK -> {
                lock.lock();
                locked(lock, section);
            }
            case TIMED, NOT_RENEWED -> {
                Optional<Lease> lease = lock.tryAcquire(bench.patience());
                long nanos = System.nanoTime();
                if (lease.isEmpty()) {
                    hold.failed(Outcome.BUSY);
                } else {
                    hold.acquired(nanos, lease.get());
                    bench.pass(section, lease.get(), kind);
                    WorkerContext.release(hold, lease.get()::close);
                }
            }
            case FIFO -> {
                Lease lease = lock.acquire(WorkerContext.FIFO_PATIENCE);
                hold.acquired(System.nanoTime(), lease);
                section.pass(lease, bench.fifoHoldMillis(), false);
                WorkerContext.release(hold, lease::close);
            }
            case CLOSED_ELSEWHERE -> {
                Lease lease = lock.acquire();
                hold.acquired(System.nanoTime(), lease);
                section.pass(lease, bench.holdMillis(), false);
                bench.releaseElsewhere(hold, lease::close);
            }
            case ASYNC -> bench.async(lock.acquireAsync(bench.patience()), section);
            case LEFT_TO_CLOSE, DOWNGRADE -> throw new IllegalStateException("not drawn");
        }
    }

    private void locked(DistributedLock lock, Section section) throws IOException, InterruptedException {
        long nanos = System.nanoTime();
        boolean released = false;
        try {
            Lease held = lock.held().orElseThrow();
            section.hold().acquired(nanos, held);
            pass(lock, section, held);
            if (readsAndWrites && !section.isShared() && bench.random().nextInt(100) < DOWNGRADES) {
                released = downgrade(lock, section);
            }
            if (!released) {
                released = true;
                WorkerContext.release(section.hold(), lock::unlock);
            }
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
            // The reason is reported already.
        }
    }

    /** The thread reads on when it has ended to write. Returns whether it has unlocked the write lock. */
    private boolean downgrade(DistributedLock writeLock, Section written) throws IOException, InterruptedException {
        DistributedLock readLock = lock(OpKind.DOWNGRADE, written.name(), true);
        Hold hold = bench.hold(written.name(), OpKind.DOWNGRADE, Demand.SHARED);
        Section reading = new Section(bench, hold, written.name(), true);
        boolean[] unlocked = {false};
        bench.attempt(hold, () -> {
            readLock.lock();
            long nanos = System.nanoTime();
            boolean released = false;
            try {
                Lease held = readLock.held().orElseThrow();
                hold.acquired(nanos, held);
                unlocked[0] = true;
                WorkerContext.release(written.hold(), writeLock::unlock);
                pass(readLock, reading, held);
                released = true;
                WorkerContext.release(hold, readLock::unlock);
            } finally {
                if (!released) {
                    unlockQuietly(readLock);
                }
            }
        });
        return unlocked[0];
    }

    /** The critical section of a thread, which may enter again. */
    private void pass(DistributedLock lock, Section section, Lease lease) throws IOException, InterruptedException {
        Hold hold = section.hold();
        long plannedMillis = bench.holdMillis();
        long millis = Math.max(plannedMillis, section.enter(lease));
        boolean again = bench.random().nextInt(10) == 0 && reenter(lock, hold);
        try {
            WorkerContext.stay(hold, lease, millis, false);
        } finally {
            if (again) {
                hold.exit();
                unlockQuietly(lock);
            }
        }
        section.leave(lease);
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
