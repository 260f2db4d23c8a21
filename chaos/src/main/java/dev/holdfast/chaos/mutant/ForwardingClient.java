package dev.holdfast.chaos.mutant;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockListener;
import dev.holdfast.lock.LockOptions;
import java.util.Optional;

/** A client that passes everything on, with locks that may be wrapped. */
class ForwardingClient implements LockClient {
    private final LockClient delegate;

    ForwardingClient(LockClient delegate) {
        this.delegate = delegate;
    }

    DistributedLock wrap(DistributedLock lock) {
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

    @Override
    public Optional<HolderInfo> holder(String name) {
        return delegate.holder(name);
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
}
