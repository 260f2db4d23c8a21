package dev.holdfast.lock.testkit.fault;

import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.LockListing;
import dev.holdfast.lock.StoreFinding;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.BackendInfo;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.GrantListener;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.Ticket;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/** A backend that passes everything on; subclasses change what they want to. As thread-safe as what it wraps. */
public class ForwardingBackend implements LockBackend {
    private final LockBackend delegate;

    /**
     * Wraps a backend.
     *
     * @param delegate the backend, closed with this one
     */
    public ForwardingBackend(LockBackend delegate) {
        this.delegate = delegate;
    }

    /**
     * Returns the wrapped backend.
     *
     * @return the backend
     */
    protected final LockBackend delegate() {
        return delegate;
    }

    @Override
    public BackendInfo info() {
        return delegate.info();
    }

    @Override
    public void setGrantListener(GrantListener observer) {
        delegate.setGrantListener(observer);
    }

    @Override
    public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
        return delegate.tryAcquire(request);
    }

    @Override
    public Subscription subscribe(Ticket ticket, Runnable onMaybeFree) {
        return delegate.subscribe(ticket, onMaybeFree);
    }

    @Override
    public CompletionStage<Void> abandon(AcquisitionId acquisition, long timeoutMillis) {
        return delegate.abandon(acquisition, timeoutMillis);
    }

    @Override
    public CompletionStage<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
        return delegate.renew(grants, timeoutMillis);
    }

    @Override
    public CompletionStage<ReleaseResult> release(Grant grant, long timeoutMillis) {
        return delegate.release(grant, timeoutMillis);
    }

    @Override
    public CompletionStage<Optional<HolderInfo>> holder(String name, long timeoutMillis) {
        return delegate.holder(name, timeoutMillis);
    }

    @Override
    public CompletionStage<List<HolderInfo>> holders(String name, long timeoutMillis) {
        return delegate.holders(name, timeoutMillis);
    }

    @Override
    public CompletionStage<Integer> changeLimit(String name, int from, int to, long timeoutMillis) {
        return delegate.changeLimit(name, from, to, timeoutMillis);
    }

    @Override
    public CompletionStage<LockListing> list(String prefix, int limit, long timeoutMillis) {
        return delegate.list(prefix, limit, timeoutMillis);
    }

    @Override
    public CompletionStage<List<StoreFinding>> examine(long timeoutMillis) {
        return delegate.examine(timeoutMillis);
    }

    @Override
    public void close() {
        delegate.close();
    }
}
