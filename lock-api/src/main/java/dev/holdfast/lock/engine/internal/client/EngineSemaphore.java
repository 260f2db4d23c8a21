package dev.holdfast.lock.engine.internal.client;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.DistributedSemaphore;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.Permit;
import dev.holdfast.lock.engine.internal.hold.Hold;
import dev.holdfast.lock.engine.internal.queue.LockEntry;
import dev.holdfast.lock.engine.internal.queue.Waiter;
import dev.holdfast.lock.engine.internal.runtime.Failures;
import dev.holdfast.lock.spi.LockName;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The user's handle of a semaphore: each acquisition has a lock entry of its own. */
final class EngineSemaphore extends BlockingSemaphore {
    private final int limit;
    private final Function<Hold, Permit> permits;

    EngineSemaphore(Acquirer acquirer, int limit) {
        super(acquirer);
        this.permits = hold -> new EnginePermit(acquirer.engine(), acquirer.calls(), hold);
        this.limit = demand(1, limit).limit();
    }

    private Demand.Permits demand(int permits, int of) {
        return Failures.named(name(), () -> new Demand.Permits(permits, of));
    }

    private Function<Waiter, LockEntry> entrance(int permits) {
        Demand.Permits demand = demand(permits, limit);
        return waiter -> acquirer.entries().permit(name(), demand, waiter);
    }

    @Override
    public int limit() {
        return limit;
    }

    @Override
    public DistributedSemaphore withStoredLimit() {
        return new StoredLimitSemaphore(acquirer, this);
    }

    @Override
    public int storedLimit() {
        return tryChangeLimit(limit);
    }

    @Override
    public int availablePermits() {
        List<HolderInfo> holders = queries().holders(name());
        int available = storedLimit();
        for (HolderInfo holder : holders) {
            if (!(holder.demand() instanceof Demand.Permits held)) {
                return 0;
            }
            available -= held.permits();
        }
        return Math.max(0, available);
    }

    @Override
    @Nullable Permit obtain(int permits, long timeoutNanos, boolean interruptible) throws InterruptedException {
        Hold hold = acquirer.obtain(timeoutNanos, true, interruptible, entrance(permits));
        return hold == null ? null : permit(hold);
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
        int stored = tryChangeLimit(newLimit);
        if (stored != newLimit) {
            throw Failures.notTheLimit(name(), limit, newLimit, stored);
        }
        return changed;
    }

    /** Returns the limit that is stored afterwards, which is another one if it was not that of this object. */
    int tryChangeLimit(int newLimit) {
        demand(1, newLimit);
        return queries().changeLimit(name(), limit, newLimit);
    }

    private StoreQueries queries() {
        return new StoreQueries(acquirer.engine(), acquirer.calls(), acquirer.entries());
    }

    private Permit permit(Hold hold) {
        return acquirer.own(hold, permits);
    }

    @Override
    public String toString() {
        return "DistributedSemaphore[" + LockName.printable(name()) + ", limit " + limit + "]";
    }
}
