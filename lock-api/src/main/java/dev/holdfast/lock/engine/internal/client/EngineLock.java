package dev.holdfast.lock.engine.internal.client;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.engine.internal.hold.Hold;
import dev.holdfast.lock.engine.internal.queue.LockEntry;
import dev.holdfast.lock.engine.internal.queue.LockEntryRegistry;
import dev.holdfast.lock.engine.internal.queue.Waiter;
import dev.holdfast.lock.engine.internal.runtime.Failures;
import dev.holdfast.lock.spi.LockName;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The user's handle of an exclusive lock or a read lock. */
final class EngineLock implements DistributedLock {
    private final Acquirer acquirer;
    private final String name;
    private final boolean reading;

    /**
     * Creates a handle.
     *
     * @param reading whether it is the read lock of its name
     */
    EngineLock(Acquirer acquirer, boolean reading) {
        this.acquirer = acquirer;
        this.name = acquirer.name();
        this.reading = reading;
    }

    private LockEntry submit(Waiter waiter) {
        LockEntryRegistry entries = acquirer.entries();
        return reading ? entries.read(name, waiter) : entries.submit(name, waiter);
    }

    /** Finds the entry where the calling thread may have a hold; null if there is none. */
    private @Nullable LockEntry find() {
        LockEntryRegistry entries = acquirer.entries();
        return reading ? entries.findReader(name, Thread.currentThread()) : entries.find(name);
    }

    /** Whether a hold there is a read hold under the thread's own exclusive lock. */
    private boolean isReadingWithin(LockEntry entry) {
        return reading && entry.demand() instanceof Demand.Exclusive;
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public LockOptions options() {
        return acquirer.options();
    }

    @Override
    public void lock() {
        acquirer.obtainUninterruptibly(Waiter.FOREVER, false, this::submit);
    }

    @Override
    public void lockInterruptibly() throws InterruptedException {
        acquirer.obtain(Waiter.FOREVER, false, true, this::submit);
    }

    @Override
    public boolean tryLock() {
        return acquirer.obtainUninterruptibly(0, false, this::submit) != null;
    }

    @Override
    public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
        return acquirer.obtain(Math.max(0, unit.toNanos(time)), false, true, this::submit) != null;
    }

    @Override
    public void unlock() {
        LockEntry entry = find();
        if (entry == null) {
            throw Failures.notHeld(name, Thread.currentThread());
        }
        acquirer.calls().unlock(entry.holds(), isReadingWithin(entry));
    }

    @Override
    public Lease acquire() throws InterruptedException {
        return lease(Objects.requireNonNull(acquirer.obtain(Waiter.FOREVER, true, true, this::submit)));
    }

    @Override
    public Lease acquire(Duration timeout) throws InterruptedException {
        long timeoutNanos = acquirer.timeoutNanos(timeout);
        Hold hold = acquirer.obtain(timeoutNanos, true, true, this::submit);
        if (hold == null) {
            throw acquirer.timedOut(timeoutNanos);
        }
        return lease(hold);
    }

    @Override
    public Optional<Lease> tryAcquire() {
        return Optional.ofNullable(acquirer.obtainUninterruptibly(0, true, this::submit))
                .map(this::lease);
    }

    @Override
    public Optional<Lease> tryAcquire(Duration timeout) throws InterruptedException {
        return Optional.ofNullable(acquirer.obtain(acquirer.timeoutNanos(timeout), true, true, this::submit))
                .map(this::lease);
    }

    @Override
    public CompletableFuture<Lease> acquireAsync(Duration timeout) {
        return acquirer.acquireAsync(timeout, this::submit, this::lease);
    }

    @Override
    public CompletableFuture<Lease> acquireAsync() {
        return acquirer.acquireAsync(Waiter.FOREVER, this::submit, this::lease);
    }

    @Override
    public boolean isHeldByCurrentThread() {
        return holdCount() > 0;
    }

    @Override
    public int holdCount() {
        LockEntry entry = find();
        return entry == null ? 0 : entry.holds().holdCount(Thread.currentThread(), isReadingWithin(entry));
    }

    /** Handles have no state of their own: those of one client and name are the same lock, whatever their options. */
    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof EngineLock that
                && acquirer.engine() == that.acquirer.engine()
                && reading == that.reading
                && name.equals(that.name);
    }

    @Override
    public int hashCode() {
        return name.hashCode();
    }

    @Override
    public String toString() {
        return (reading ? "DistributedLock[reading " : "DistributedLock[") + LockName.printable(name) + " on "
                + acquirer.engine().info().name() + "]";
    }

    @Override
    public Optional<Lease> held() {
        LockEntry entry = find();
        return Optional.ofNullable(
                        entry == null ? null : entry.holds().heldBy(Thread.currentThread(), isReadingWithin(entry)))
                .map(hold -> new EngineLease(acquirer.engine(), acquirer.calls(), hold, false));
    }

    private Lease lease(Hold hold) {
        return acquirer.own(hold, acquirer.calls().leases());
    }
}
