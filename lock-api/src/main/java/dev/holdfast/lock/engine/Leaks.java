package dev.holdfast.lock.engine;

import dev.holdfast.lock.spi.LockName;
import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds leases that became unreachable without being closed, and ends their holds. Looked at by each {@link Pulse}, so
 * it needs no thread: where a lease is open there is a pulse.
 */
final class Leaks {
    private static final Logger LOG = LoggerFactory.getLogger(Leaks.class);

    private final ReferenceQueue<EngineLease> dropped = new ReferenceQueue<>();
    private final boolean tracing;

    Leaks(boolean tracing) {
        this.tracing = tracing;
    }

    /** What remains of an open lease when its object is gone. */
    static final class Trace extends PhantomReference<EngineLease> {
        private final Possession possession;
        private final @Nullable Throwable acquiredAt;

        private Trace(EngineLease lease, Possession possession, Leaks leaks) {
            super(lease, leaks.dropped);
            this.possession = possession;
            this.acquiredAt = leaks.tracing ? new Throwable("the lease was acquired here") : null;
        }

        @Nullable Throwable acquiredAt() {
            return acquiredAt;
        }

        /** The lease was closed. */
        void end() {
            clear();
            possession.openLeases.remove(this);
        }
    }

    Trace trace(EngineLease lease, Possession possession) {
        Trace trace = new Trace(lease, possession, this);
        possession.openLeases.add(trace);
        return trace;
    }

    /** Ends what was dropped since the last call. */
    void collect() {
        Reference<? extends EngineLease> reference;
        while ((reference = dropped.poll()) != null) {
            Trace trace = (Trace) reference;
            if (trace.possession.openLeases.remove(trace)) {
                LOG.warn(
                        "lock '{}' (token {}): a lease was dropped without being closed; its hold is ended now. Close"
                                + " leases with try-with-resources{}",
                        LockName.printable(trace.possession.tenure.name()),
                        trace.possession.token,
                        trace.acquiredAt == null ? ", and see ClientOptions.leakTracing for where it was acquired" : "",
                        trace.acquiredAt);
                trace.possession.tenure.holding.endDropped(trace.possession);
            }
        }
    }
}
