package dev.holdfast.chaos.client;

import dev.holdfast.lock.ClientStatus;
import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockListener;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockUsage;
import java.util.List;
import java.util.Optional;

/** A client whose close also ends what it was made from. As thread-safe as what it wraps. */
final class ClosingClient implements LockClient {
    private final LockClient delegate;
    private final Runnable after;

    ClosingClient(LockClient delegate, Runnable after) {
        this.delegate = delegate;
        this.after = after;
    }

    @Override
    public DistributedLock lock(String name) {
        return delegate.lock(name);
    }

    @Override
    public DistributedLock lock(String name, LockOptions options) {
        return delegate.lock(name, options);
    }

    @Override
    public Optional<HolderInfo> holder(String name) {
        return delegate.holder(name);
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
        try {
            delegate.close();
        } finally {
            after.run();
        }
    }
}
