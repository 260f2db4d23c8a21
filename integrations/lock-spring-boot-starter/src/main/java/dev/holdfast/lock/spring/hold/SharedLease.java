package dev.holdfast.lock.spring.hold;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockUnavailableException;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;

/** A lease of several calls, one within the other: the last that ends closes it. Thread-safe. */
final class SharedLease {
    private final Lease lease;
    private final Lease view;
    private final RunningCalls.Running running;
    private final AtomicInteger holds = new AtomicInteger(1);

    SharedLease(LockCall call, Lease lease) {
        this.lease = lease;
        view = new LeaseView(lease);
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
}
