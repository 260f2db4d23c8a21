package dev.holdfast.lock.spring.integration;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockUnavailableException;
import java.time.Duration;
import java.util.Objects;
import org.springframework.integration.support.locks.DistributedLock;
import org.springframework.integration.support.locks.RenewableLockRegistry;
import org.springframework.util.Assert;

/**
 * Spring Integration's lock registry on a {@link LockClient}. Locks belong to threads and re-enter; leases are short and renewed
 * in the background, so neither calls of {@link #renewLock(Object)} nor a scheduler are needed. A time to live is
 * {@link LockOptions#maxHold()}: what bounds a holder that hangs, not a crash.
 *
 * <p>{@code unlock} throws {@link java.util.ConcurrentModificationException} if the lease was lost, and
 * {@link IllegalMonitorStateException} if the thread does not hold the lock. Other exceptions are Holdfast's
 * {@link dev.holdfast.lock.LockException}s.
 *
 * <p>Immutable and thread-safe. Does not close the client.
 */
public final class HoldfastLockRegistry implements RenewableLockRegistry<DistributedLock> {
    private final LockClient client;
    private final String prefix;

    /**
     * Creates a registry whose keys are the names of the locks.
     *
     * @param client whose locks to use, with its own options; not closed by the registry
     */
    public HoldfastLockRegistry(LockClient client) {
        this(client, "");
    }

    /**
     * Creates a registry.
     *
     * @param client whose locks to use, with its own options; not closed by the registry
     * @param prefix stands before each key in the name of its lock, such as {@code "flows/"}
     */
    public HoldfastLockRegistry(LockClient client, String prefix) {
        this.client = Objects.requireNonNull(client, "client");
        this.prefix = Objects.requireNonNull(prefix, "prefix");
    }

    /**
     * Returns the lock of a key. Sends nothing.
     *
     * @param lockKey a string
     * @return the lock; equal for equal keys
     * @throws IllegalArgumentException if the key is no string, or the name is not acceptable
     */
    @Override
    public DistributedLock obtain(Object lockKey) {
        return new RegistryLock(client, name(lockKey));
    }

    /**
     * Makes sure that the calling thread still holds a lock, and renews its lease if less than half of it is left. A hold with a time
     * to live lasts no longer than that. Not needed: leases are renewed in the background.
     *
     * @param lockKey a string
     * @throws IllegalMonitorStateException if the calling thread does not hold the lock
     * @throws IllegalStateException if the lease was lost
     * @throws LockUnavailableException if the store does not answer; the lease may be valid for a shorter time
     */
    @Override
    public void renewLock(Object lockKey) {
        dev.holdfast.lock.DistributedLock lock = client.lock(name(lockKey));
        Lease lease = lock.held()
                .orElseThrow(() -> new IllegalMonitorStateException(
                        "The current thread does not hold the lock '" + lock.name() + "'"));
        try {
            renew(lease, lock.options().lease().dividedBy(2));
        } catch (LeaseLostException e) {
            throw new IllegalStateException("Could not renew mutex at " + lock.name() + ": " + e.getMessage(), e);
        }
    }

    private static void renew(Lease lease, Duration validity) {
        try {
            lease.ensure(validity);
        } catch (IllegalArgumentException endsEarlier) { // its own options, or a time to live, bound the hold
            lease.ensure(Duration.ZERO);
        }
    }

    /**
     * The same as {@link #renewLock(Object)}: a time to live bounds a hold from its beginning and is not prolonged. Without one
     * the lock is held for as long as it takes.
     *
     * @param lockKey a string
     * @param ttl ignored
     * @throws IllegalMonitorStateException if the calling thread does not hold the lock
     * @throws IllegalStateException if the lease was lost
     * @throws LockUnavailableException if the store does not answer; the lease may be valid for a shorter time
     */
    @Override
    public void renewLock(Object lockKey, Duration ttl) {
        renewLock(lockKey);
    }

    private String name(Object lockKey) {
        Assert.isInstanceOf(String.class, lockKey);
        return prefix + lockKey;
    }
}
