package dev.holdfast.lock.testkit.fault;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockOptions;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** A lock that passes everything on, with leases that may be wrapped: for locks that are wrong on purpose. Thread-safe if what it wraps is. */
public class ForwardingLock implements DistributedLock {
    private final DistributedLock delegate;

    /**
     * Wraps a lock.
     *
     * @param delegate the lock
     */
    public ForwardingLock(DistributedLock delegate) {
        this.delegate = delegate;
    }

    /**
     * Returns what is given out for a lease, or for the view of a hold.
     *
     * @param lease of the wrapped lock
     * @return the same, unless overridden
     */
    protected Lease wrap(Lease lease) {
        return lease;
    }

    @Override
    public String name() {
        return delegate.name();
    }

    @Override
    public LockOptions options() {
        return delegate.options();
    }

    @Override
    public void lock() {
        delegate.lock();
    }

    @Override
    public void lockInterruptibly() throws InterruptedException {
        delegate.lockInterruptibly();
    }

    @Override
    public boolean tryLock() {
        return delegate.tryLock();
    }

    @Override
    public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
        return delegate.tryLock(time, unit);
    }

    @Override
    public void unlock() {
        delegate.unlock();
    }

    @Override
    public Lease acquire() throws InterruptedException {
        return wrap(delegate.acquire());
    }

    @Override
    public Lease acquire(Duration timeout) throws InterruptedException {
        return wrap(delegate.acquire(timeout));
    }

    @Override
    public Optional<Lease> tryAcquire() {
        return delegate.tryAcquire().map(this::wrap);
    }

    @Override
    public Optional<Lease> tryAcquire(Duration timeout) throws InterruptedException {
        return delegate.tryAcquire(timeout).map(this::wrap);
    }

    @Override
    public CompletableFuture<Lease> acquireAsync(Duration timeout) {
        return delegate.acquireAsync(timeout);
    }

    @Override
    public Optional<Lease> held() {
        return delegate.held().map(this::wrap);
    }

    @Override
    public boolean isHeldByCurrentThread() {
        return delegate.isHeldByCurrentThread();
    }

    @Override
    public CompletableFuture<Lease> acquireAsync() {
        return delegate.acquireAsync();
    }

    @Override
    public int holdCount() {
        return delegate.holdCount();
    }
}
