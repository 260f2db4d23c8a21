package dev.holdfast.lock.spring.hold;

import dev.holdfast.lock.Lease;
import java.util.concurrent.atomic.AtomicInteger;

/** A lease of several calls, one within the other: the last that ends closes it. Thread-safe. */
final class SharedLease {
    private final Lease lease;
    private final Lease view;
    private final AtomicInteger holds = new AtomicInteger(1);

    SharedLease(Lease lease) {
        this.lease = lease;
        view = new LeaseView(lease);
    }

    Lease view() {
        return view;
    }

    /** Takes one more share. False if the last was given back already. */
    boolean retain() {
        return holds.getAndUpdate(count -> count == 0 ? 0 : count + 1) > 0;
    }

    void release() {
        if (holds.decrementAndGet() == 0) {
            lease.close();
        }
    }
}
