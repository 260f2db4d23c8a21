package dev.holdfast.lock.testkit.fault;

import dev.holdfast.lock.ClientStatus;
import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.DistributedReadWriteLock;
import dev.holdfast.lock.DistributedSemaphore;
import dev.holdfast.lock.Election;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockListener;
import dev.holdfast.lock.LockListing;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockUsage;
import dev.holdfast.lock.MultiLock;
import dev.holdfast.lock.StoreFinding;
import dev.holdfast.lock.recipe.Recipes;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** A client that passes everything on, with locks that may be wrapped: for clients that are wrong on purpose. Thread-safe if what it wraps is. */
public class ForwardingClient implements LockClient {
    private final LockClient delegate;

    /**
     * Wraps a client.
     *
     * @param delegate the client, closed with this one
     */
    public ForwardingClient(LockClient delegate) {
        this.delegate = delegate;
    }

    /**
     * Returns what is given out for a lock.
     *
     * @param lock of the wrapped client
     * @return the same, unless overridden
     */
    protected DistributedLock wrap(DistributedLock lock) {
        return lock;
    }

    @Override
    public final DistributedLock lock(String name) {
        return wrap(delegate.lock(name));
    }

    @Override
    public final DistributedLock lock(String name, LockOptions options) {
        return wrap(delegate.lock(name, options));
    }

    /** Of the locks of this client, wrapped ones too. */
    @Override
    public final MultiLock lockAll(String... names) {
        return Recipes.lockAll(this, List.of(names), null, System::nanoTime);
    }

    /** Of the locks of this client, wrapped ones too. */
    @Override
    public MultiLock lockAll(Collection<String> names, LockOptions options) {
        return Recipes.lockAll(this, names, options, System::nanoTime);
    }

    /** Of the wrapped client: neither lock is {@linkplain #wrap wrapped}. */
    @Override
    public DistributedReadWriteLock readWriteLock(String name) {
        return delegate.readWriteLock(name);
    }

    /** Of the wrapped client: neither lock is {@linkplain #wrap wrapped}. */
    @Override
    public DistributedReadWriteLock readWriteLock(String name, LockOptions options) {
        return delegate.readWriteLock(name, options);
    }

    @Override
    public DistributedSemaphore semaphore(String name, int limit) {
        return delegate.semaphore(name, limit);
    }

    @Override
    public DistributedSemaphore semaphore(String name, int limit, LockOptions options) {
        return delegate.semaphore(name, limit, options);
    }

    /** On a lock of this client, a wrapped one too. */
    @Override
    public final Election.Builder election(String name) {
        return Recipes.election(this, name);
    }

    @Override
    public Optional<HolderInfo> holder(String name) {
        return delegate.holder(name);
    }

    @Override
    public List<HolderInfo> holders(String name) {
        return delegate.holders(name);
    }

    @Override
    public LockListing list(String prefix, int limit) {
        return delegate.list(prefix, limit);
    }

    @Override
    public List<StoreFinding> examine() {
        return delegate.examine();
    }

    @Override
    public List<LockUsage> held() {
        return delegate.held();
    }

    @Override
    public ClientStatus status() {
        return delegate.status();
    }

    @Override
    public void addListener(LockListener listener) {
        delegate.addListener(listener);
    }

    @Override
    public void removeListener(LockListener listener) {
        delegate.removeListener(listener);
    }

    @Override
    public void close() {
        delegate.close();
    }

    @Override
    public void closeExcept(Set<String> running) {
        delegate.closeExcept(running);
    }
}
