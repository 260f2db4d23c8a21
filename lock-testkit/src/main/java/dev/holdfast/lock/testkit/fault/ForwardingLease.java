package dev.holdfast.lock.testkit.fault;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LossReason;
import java.time.Duration;
import java.util.concurrent.CompletionStage;

/** A lease that passes everything on: for leases that are wrong on purpose. Thread-safe if what it wraps is. */
public class ForwardingLease implements Lease {
    private final Lease delegate;

    /**
     * Wraps a lease.
     *
     * @param delegate the lease, closed with this one
     */
    public ForwardingLease(Lease delegate) {
        this.delegate = delegate;
    }

    @Override
    public String name() {
        return delegate.name();
    }

    @Override
    public long token() {
        return delegate.token();
    }

    @Override
    public boolean isValid() {
        return delegate.isValid();
    }

    @Override
    public Duration remaining() {
        return delegate.remaining();
    }

    @Override
    public void ensure(Duration validity) {
        delegate.ensure(validity);
    }

    @Override
    public CompletionStage<LossReason> lost() {
        return delegate.lost();
    }

    @Override
    public void close() {
        delegate.close();
    }
}
