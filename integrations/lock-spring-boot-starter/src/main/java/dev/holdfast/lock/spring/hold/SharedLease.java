package dev.holdfast.lock.spring.hold;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.spi.LockName;
import java.time.Duration;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;

/** A lease of several calls, one within the other: the last that ends closes it. Thread-safe. */
final class SharedLease {
    private final Lease lease;
    private final Lease view;
    private final RunningCalls.Running running;
    private final AtomicInteger holds = new AtomicInteger(1);

    SharedLease(LockCall call, Lease lease) {
        this.lease = lease;
        view = new View(lease);
        running = RunningCalls.begin(call, view);
    }

    Lease view() {
        return view;
    }

    /** Takes one more share. False if the last was given back already. */
    boolean retain() {
        return holds.getAndUpdate(count -> count == 0 ? 0 : count + 1) > 0;
    }

    /** Throws if the lease is known to be lost. To be called with a share. */
    void requireNotLost() {
        if (!lease.isValid()) {
            try {
                lease.ensure(Duration.ZERO);
            } catch (LockUnavailableException inDoubt) {
                return; // close() reports the outcome to its caller
            }
        }
    }

    /** Gives a share back. Throws if the lease is lost, whether or not it is the last. */
    void release() {
        try {
            if (holds.get() > 1) {
                requireNotLost();
            }
        } finally {
            if (holds.decrementAndGet() == 0) {
                try {
                    lease.close();
                } finally {
                    running.end();
                }
            }
        }
    }

    /** A lease for the code that it guards, which cannot close it: its owner does. Thread-safe. */
    private record View(Lease lease) implements Lease {
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
}
