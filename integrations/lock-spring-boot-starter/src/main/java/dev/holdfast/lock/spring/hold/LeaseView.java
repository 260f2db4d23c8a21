package dev.holdfast.lock.spring.hold;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.spi.LockName;
import java.time.Duration;
import java.util.concurrent.CompletionStage;

/** A lease for the code that it guards, which cannot close it: its owner does. Thread-safe. */
record LeaseView(Lease lease) implements Lease {
    @Override
    public String name() {
        return lease.name();
    }

    @Override
    public long token() {
        return lease.token();
    }

    @Override
    public boolean isValid() {
        return lease.isValid();
    }

    @Override
    public Duration remaining() {
        return lease.remaining();
    }

    @Override
    public void ensure(Duration validity) {
        lease.ensure(validity);
    }

    @Override
    public CompletionStage<LossReason> lost() {
        return lease.lost();
    }

    @Override
    public void close() {
        throw new UnsupportedOperationException("lock '" + LockName.printable(name()) + "' (token " + token()
                + "): the annotation or the template releases it; return from the method");
    }
}
