package dev.holdfast.lock.engine;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.spi.LockName;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The user's handle of a lock: every form of acquiring comes down to {@link #obtain} or {@link #acquireAsync}. */
final class EngineLock implements DistributedLock {
    private final EngineContext engine;
    private final LockEntries entries;
    private final BlockingCalls calls;
    private final String name;
    private final LockOptions options;

    EngineLock(EngineContext engine, LockEntries entries, BlockingCalls calls, String name, LockOptions options) {
        this.engine = engine;
        this.entries = entries;
        this.calls = calls;
        this.name = name;
        this.options = options;
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public LockOptions options() {
        return options;
    }

    @Override
    public void lock() {
        obtainUninterruptibly(Waiter.FOREVER, false);
    }

    @Override
    public void lockInterruptibly() throws InterruptedException {
        obtain(Waiter.FOREVER, false, true);
    }

    @Override
    public boolean tryLock() {
        return obtainUninterruptibly(0, false) != null;
    }

    @Override
    public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
        return obtain(Math.max(0, unit.toNanos(time)), false, true) != null;
    }

    @Override
    public void unlock() {
        LockEntry entry = entries.find(name);
        if (entry == null) {
            throw Failures.notHeld(name, Thread.currentThread());
        }
        calls.unlock(entry.holds());
    }

    @Override
    public Lease acquire() throws InterruptedException {
        return lease(Objects.requireNonNull(obtain(Waiter.FOREVER, true, true)));
    }

    @Override
    public Lease acquire(Duration timeout) throws InterruptedException {
        long timeoutNanos = timeoutNanos(timeout);
        Hold hold = obtain(timeoutNanos, true, true);
        if (hold == null) {
            throw AsyncWaiter.timedOut(name, timeoutNanos);
        }
        return lease(hold);
    }

    @Override
    public Optional<Lease> tryAcquire() {
        return Optional.ofNullable(obtainUninterruptibly(0, true)).map(this::lease);
    }

    @Override
    public Optional<Lease> tryAcquire(Duration timeout) throws InterruptedException {
        return Optional.ofNullable(obtain(timeoutNanos(timeout), true, true)).map(this::lease);
    }

    @Override
    public CompletableFuture<Lease> acquireAsync(Duration timeout) {
        long timeoutNanos = timeoutNanos(timeout);
        entries.requireOpen(name);
        AsyncWaiter waiter = new AsyncWaiter(
                name, options, timeoutNanos, engine.nanos(), engine.runtime().callbacks(), this::lease);
        LockEntry entry = entries.submit(name, waiter);
        if (!waiter.triesOnce() && !waiter.waitsForever()) {
            waiter.timeout(engine.timer().after(timeoutNanos, () -> entry.timeOut(waiter)));
        }
        waiter.future.whenComplete((lease, error) -> entry.cancel(waiter));
        return waiter.future;
    }

    @Override
    public boolean isHeldByCurrentThread() {
        LockEntry entry = entries.find(name);
        return entry != null && entry.heldLock().isHeldBy(Thread.currentThread());
    }

    @Override
    public String toString() {
        return "DistributedLock[" + LockName.printable(name) + " on "
                + engine.info().name() + "]";
    }

    @Override
    public Optional<Lease> held() {
        LockEntry entry = entries.find(name);
        return Optional.ofNullable(entry == null ? null : entry.holds().heldBy(Thread.currentThread()))
                .map(hold -> new EngineLease(engine, calls, hold, false));
    }

    private Lease lease(Hold hold) {
        return new EngineLease(engine, calls, hold, true);
    }

    private long timeoutNanos(Duration timeout) {
        Objects.requireNonNull(timeout, "timeout");
        if (timeout.isNegative()) {
            throw new IllegalArgumentException(
                    "lock '" + LockName.printable(name) + "': timeout must not be negative, got " + timeout);
        }
        return Durations.nanos(timeout);
    }

    private @Nullable Hold obtainUninterruptibly(long timeoutNanos, boolean asLease) {
        try {
            return obtain(timeoutNanos, asLease, false);
        } catch (InterruptedException impossible) {
            throw new AssertionError(impossible);
        }
    }

    /** Acquires for the calling thread; null if somebody else has the lock. */
    private @Nullable Hold obtain(long timeoutNanos, boolean asLease, boolean interruptible)
            throws InterruptedException {
        if (interruptible && Thread.interrupted()) {
            throw new InterruptedException("lock '" + LockName.printable(name) + "': interrupted before acquiring");
        }
        ThreadWaiter waiter = new ThreadWaiter(options, asLease, timeoutNanos, engine.nanos());
        LockEntry entry = entries.submit(name, waiter);
        waiter.await(entry, engine.ticker(), interruptible);
        if (waiter.state == Waiter.State.FAILED) {
            throw Failures.here(Objects.requireNonNull(waiter.failure));
        }
        Hold hold = waiter.state == Waiter.State.GRANTED ? waiter.hold : null;
        if (hold != null) {
            calls.settle(hold, waiter);
        }
        return hold;
    }
}
