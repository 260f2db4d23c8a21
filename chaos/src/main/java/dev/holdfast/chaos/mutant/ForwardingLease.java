package dev.holdfast.chaos.mutant;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LossReason;
import java.time.Duration;
import java.util.concurrent.CompletionStage;

/** A lease that passes everything on. */
class ForwardingLease implements Lease {
    private final Lease delegate;

    ForwardingLease(Lease delegate) {
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
