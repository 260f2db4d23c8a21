package dev.holdfast.chaos.client;

import dev.holdfast.chaos.history.EventLog;
import dev.holdfast.chaos.history.OpKind;
import dev.holdfast.chaos.history.Outcome;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockException;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Locks that a client holds from its start to its end, under names that no other client uses and no fault concerns. What happens to the
 * client's other locks must not cost it these (rule S6).
 */
final class Bystanders implements Runnable {
    static final int COUNT = 3;

    private static final int THREAD = 126;
    private static final long LOOK_MILLIS = 50;
    private static final long RETRY_MILLIS = 250;

    private final ClientConfig config;
    private final LockClient client;
    private final EventLog log;
    private final BooleanSupplier stopped;
    private final @Nullable Held[] held = new Held[COUNT];

    /** One of the locks. */
    private static final class Held {
        final Hold hold;
        final Lease lease;
        private final long leaseNanos;
        private long reportedNanos;

        Held(Hold hold, Lease lease, long leaseMillis) {
            this.hold = hold;
            this.lease = lease;
            this.leaseNanos = leaseMillis * 1_000_000;
            this.reportedNanos = leaseNanos / 2;
        }

        /** Confirms the lease, and writes down how old its last renewal is, if that is more than before. */
        boolean look() {
            if (!hold.confirm(lease)) {
                return false;
            }
            long ageNanos = leaseNanos - lease.remaining().toNanos();
            if (ageNanos > reportedNanos) {
                reportedNanos = ageNanos;
                hold.age(ageNanos);
            }
            return true;
        }
    }

    Bystanders(ClientConfig config, LockClient client, EventLog log, BooleanSupplier stopped) {
        this.config = config;
        this.client = client;
        this.log = log;
        this.stopped = stopped;
    }

    @Override
    public void run() {
        try {
            while (!stopped.getAsBoolean()) {
                for (int i = 0; i < COUNT; i++) {
                    Held one = held[i];
                    held[i] = one != null && one.look() ? one : renewed(i, one);
                }
                Thread.sleep(LOOK_MILLIS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            for (Held one : held) {
                release(one);
            }
        }
    }

    /** Acquires one that was lost, or is not held yet. A predecessor of this process may hold it until its lease ends. */
    private @Nullable Held renewed(int index, @Nullable Held before) throws InterruptedException {
        release(before);
        int name = config.bystander(index);
        Hold hold = new Hold(log, THREAD, name, OpKind.BYSTANDER);
        try {
            Lease lease = client.lock(ClientConfig.lockName(name)).tryAcquire().orElse(null);
            if (lease != null) {
                hold.acquired(System.nanoTime(), lease);
                return new Held(hold, lease, config.leaseMillis());
            }
            hold.failed(Outcome.BUSY);
        } catch (LockException e) {
            hold.failed(Hold.outcome(e));
        }
        Thread.sleep(RETRY_MILLIS);
        return null;
    }

    private static void release(@Nullable Held one) {
        if (one != null) {
            WorkerContext.release(one.hold, one.lease::close);
        }
    }
}
