package dev.holdfast.lock.engine.internal.hold;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.engine.internal.runtime.Housekeeper;
import dev.holdfast.lock.spi.LockName;
import dev.holdfast.lock.spi.support.BackgroundLog;
import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import org.jspecify.annotations.Nullable;

/**
 * Finds leases that became unreachable without being closed, and ends their holds. Each run of the {@link Housekeeper} checks for
 * them, so that no extra thread is needed: a client with open leases has a periodic task.
 */
public final class LeakDetector {
    private static final BackgroundLog LOG = BackgroundLog.of(LeakDetector.class);

    private final ReferenceQueue<Lease> dropped = new ReferenceQueue<>();
    private final boolean tracing;

    public LeakDetector(boolean tracing) {
        this.tracing = tracing;
    }

    /** The trace of an open lease, which remains when the lease is unreachable. */
    public static final class Trace extends PhantomReference<Lease> {
        private final Hold hold;
        private final @Nullable Throwable acquiredAt;

        private Trace(Lease lease, Hold hold, LeakDetector leakDetector) {
            super(lease, leakDetector.dropped);
            this.hold = hold;
            this.acquiredAt = leakDetector.tracing ? new Throwable("the lease was acquired here") : null;
        }

        @Nullable Throwable acquiredAt() {
            return acquiredAt;
        }

        /** Stops tracing a lease that was closed. */
        public void end() {
            clear();
            hold.openLease = null;
        }
    }

    public Trace trace(Lease lease, Hold hold) {
        Trace trace = new Trace(lease, hold, this);
        hold.openLease = trace;
        return trace;
    }

    /** Ends the holds of leases that were dropped since the last call. */
    public void collect() {
        Reference<? extends Lease> reference;
        while ((reference = dropped.poll()) != null) {
            Trace trace = (Trace) reference;
            if (trace.hold.openLease == trace) {
                trace.hold.openLease = null;
                trace.hold.unreturned = true; // should there be no memory for its end
                trace.hold.lock.endDropped(trace.hold);
                LOG.warn(
                        "lock '{}' (token {}): a lease was dropped without being closed; its hold is ended now. Close"
                                + " leases with try-with-resources{}",
                        LockName.printable(trace.hold.heldGrant.name()),
                        trace.hold.token,
                        trace.acquiredAt == null
                                ? ", and see LockClientOptions.leakTracing for where it was acquired"
                                : "",
                        trace.acquiredAt);
            }
        }
    }
}
