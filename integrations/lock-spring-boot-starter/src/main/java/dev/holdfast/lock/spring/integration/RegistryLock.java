package dev.holdfast.lock.spring.integration;

import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockOptions;
import java.time.Duration;
import java.util.ConcurrentModificationException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import org.jspecify.annotations.Nullable;
import org.springframework.integration.support.locks.DistributedLock;

/** A lock of the registry. It has no state of its own: equal ones are the same lock. */
final class RegistryLock implements DistributedLock {
    private final LockClient client;
    private final dev.holdfast.lock.DistributedLock lock;

    RegistryLock(LockClient client, String name) {
        this.client = client;
        this.lock = client.lock(name);
    }

    /** The same lock, with a bound on a hold that is begun by it. */
    private dev.holdfast.lock.DistributedLock boundedBy(Duration ttl) {
        LockOptions options = lock.options().toBuilder().maxHold(ttl).build();
        return client.lock(lock.name(), options);
    }

    @Override
    public void lock() {
        lock.lock();
    }

    @Override
    public void lock(Duration ttl) {
        boundedBy(ttl).lock();
    }

    @Override
    public void lockInterruptibly() throws InterruptedException {
        lock.lockInterruptibly();
    }

    @Override
    public boolean tryLock() {
        return lock.tryLock();
    }

    @Override
    public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
        return lock.tryLock(time, unit);
    }

    @Override
    public boolean tryLock(Duration waitTime, Duration ttl) throws InterruptedException {
        return boundedBy(ttl).tryLock(nanos(waitTime), TimeUnit.NANOSECONDS);
    }

    private static long nanos(Duration time) {
        try {
            return time.toNanos();
        } catch (ArithmeticException longerThan292Years) {
            return Long.MAX_VALUE;
        }
    }

    @Override
    public void unlock() {
        try {
            lock.unlock();
        } catch (LeaseLostException e) {
            ConcurrentModificationException lost = new ConcurrentModificationException(
                    "Lock was released in the store due to expiration. The integrity of data protected by this lock may have been"
                            + " compromised: " + e.getMessage());
            lost.initCause(e);
            throw lost;
        }
    }

    @Override
    public Condition newCondition() {
        throw new UnsupportedOperationException("lock '" + lock.name() + "': a distributed lock has no conditions");
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof RegistryLock that
                && client == that.client
                && lock.name().equals(that.lock.name());
    }

    @Override
    public int hashCode() {
        return lock.name().hashCode();
    }

    @Override
    public String toString() {
        return lock.toString();
    }
}
