package dev.holdfast.lock.engine.internal.client;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.DistributedSemaphore;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.Permit;
import dev.holdfast.lock.engine.internal.hold.Hold;
import dev.holdfast.lock.engine.internal.queue.AsyncWaiter;
import dev.holdfast.lock.engine.internal.queue.LockEntry;
import dev.holdfast.lock.engine.internal.queue.Waiter;
import dev.holdfast.lock.engine.internal.runtime.Failures;
import dev.holdfast.lock.spi.LockName;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/** The user's handle of a semaphore: each acquisition has a lock entry of its own. */
final class EngineSemaphore implements DistributedSemaphore {
    private final Acquirer acquirer;
    private final String name;
    private final int limit;
    private final Function<Hold, Permit> permits;

    EngineSemaphore(Acquirer acquirer, int limit) {
        this.acquirer = acquirer;
        this.name = acquirer.name();
        this.permits = hold -> new EnginePermit(acquirer.engine(), acquirer.calls(), hold);
        this.limit = Failures.<Demand.Permits>named(acquirer.name(), () -> new Demand.Permits(1, limit))
                .limit();
    }

    private Demand.Permits demand(int permits) {
        return Failures.named(name, () -> new Demand.Permits(permits, limit));
    }

    private Function<Waiter, LockEntry> entrance(int permits) {
        Demand.Permits demand = demand(permits);
        return waiter -> acquirer.entries().permit(name, demand, waiter);
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public int limit() {
        return limit;
    }

    @Override
    public LockOptions options() {
        return acquirer.options();
    }

    @Override
    public Permit acquire(int permits) throws InterruptedException {
        return permit(Objects.requireNonNull(acquirer.obtain(Waiter.FOREVER, true, true, entrance(permits))));
    }

    @Override
    public Permit acquire(int permits, Duration timeout) throws InterruptedException {
        long timeoutNanos = acquirer.timeoutNanos(timeout);
        Hold hold = acquirer.obtain(timeoutNanos, true, true, entrance(permits));
        if (hold == null) {
            throw AsyncWaiter.timedOut(name, timeoutNanos);
        }
        return permit(hold);
    }

    @Override
    public Optional<Permit> tryAcquire(int permits) {
        return Optional.ofNullable(acquirer.obtainUninterruptibly(0, true, entrance(permits)))
                .map(this::permit);
    }

    @Override
    public Optional<Permit> tryAcquire(int permits, Duration timeout) throws InterruptedException {
        return Optional.ofNullable(acquirer.obtain(acquirer.timeoutNanos(timeout), true, true, entrance(permits)))
                .map(this::permit);
    }

    /** Unchecked, as the future completes only with permits that {@link #permit} creates. */
    @Override
    @SuppressWarnings("unchecked")
    public CompletableFuture<Permit> acquireAsync(int permits, Duration timeout) {
        CompletableFuture<? extends Lease> future = acquirer.acquireAsync(timeout, entrance(permits), this::permit);
        return (CompletableFuture<Permit>) future;
    }

    @Override
    public DistributedSemaphore changeLimit(int newLimit) {
        EngineSemaphore changed = new EngineSemaphore(acquirer, newLimit);
        int stored = new StoreQueries(acquirer.engine(), acquirer.calls(), acquirer.entries())
                .changeLimit(name, limit, newLimit);
        if (stored != newLimit) {
            throw Failures.notTheLimit(name, limit, newLimit, stored);
        }
        return changed;
    }

    private Permit permit(Hold hold) {
        return acquirer.own(hold, permits);
    }

    @Override
    public String toString() {
        return "DistributedSemaphore[" + LockName.printable(name) + ", limit " + limit + "]";
    }
}
