package dev.holdfast.chaos.client;

import dev.holdfast.chaos.register.Register;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.Permit;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/**
 * The critical section of one hold: an exclusive holder reads what the lock guards and writes it at the end, who shares reads it
 * twice. A holder of permits has what its slot guards for itself.
 */
final class Section {
    private final WorkerContext bench;
    private final Hold hold;
    private final int name;
    private final boolean shared;
    private RegisterClient.@Nullable Seen seen;

    Section(WorkerContext bench, Hold hold, int name, boolean shared) {
        this.bench = bench;
        this.hold = hold;
        this.name = name;
        this.shared = shared;
    }

    Hold hold() {
        return hold;
    }

    int name() {
        return name;
    }

    boolean isShared() {
        return shared;
    }

    /** Begins. Returns for how many milliseconds the holder is to stay at least. */
    long enter(Lease lease) throws IOException {
        RegisterClient.Seen now = shared
                ? bench.register().readShared(name, lease.token(), bench.holder(hold), Register.NOTHING)
                : bench.register().read(place(lease), lease.token(), bench.holder(hold));
        seen = now;
        return now.stayMillis();
    }

    /** Ends, whether the lease is valid or not. */
    void leave(Lease lease) throws IOException {
        RegisterClient.Seen before = seen;
        if (before == null) {
            throw new IllegalStateException("not entered");
        }
        if (!shared) {
            bench.register().write(place(lease), lease.token(), bench.holder(hold), before);
        } else if (before.allowed()) {
            bench.register().readShared(name, lease.token(), bench.holder(hold), before.guarded());
        }
    }

    /** All of it, by a holder that cannot enter again. A careless one does not look whether its lease is still valid. */
    void pass(Lease lease, long plannedMillis, boolean careless) throws IOException, InterruptedException {
        long millis = Math.max(plannedMillis, enter(lease));
        WorkerContext.stay(hold, lease, millis, careless);
        leave(lease);
        hold.confirm(lease);
    }

    private int place(Lease lease) {
        return lease instanceof Permit permit ? Register.place(name, permit.slot()) : name;
    }
}
