package dev.holdfast.lock.spring.hold;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.spi.LockName;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.WeakHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The holds of all locked calls that have not ended, of templates that applications make themselves too. When the application ends,
 * some may still run: Spring waits for executors and web requests for a limited time, and for virtual threads not at all.
 * Thread-safe.
 */
public final class RunningCalls {
    private static final Logger LOG = LoggerFactory.getLogger(RunningCalls.class);
    /** Weak, so that a lease whose future or publisher was dropped is still released when the garbage collector finds it. */
    private static final Set<Running> ALL = Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap<>()));

    private RunningCalls() {}

    /** Notes a hold; to be ended when it is given back. */
    static Running begin(LockCall call, Lease lease) {
        Running running = new Running(call, lease);
        ALL.add(running);
        return running;
    }

    /**
     * Returns the locks under which calls still run, and logs each call.
     *
     * @param client whose locks are meant
     * @return the names, to be left to their leases when the client is closed
     */
    public static Set<String> reportLeft(LockClient client) {
        Set<String> names = new TreeSet<>();
        for (Running running : List.copyOf(ALL)) {
            if (running.call.client() == client && running.lease.isValid()) {
                names.add(running.lease.name());
                LOG.warn(
                        "lock '{}' (token {}): {} still runs while the application ends; the lock is not released and ends with"
                                + " its lease, in {} ms at the latest",
                        LockName.printable(running.lease.name()),
                        running.lease.token(),
                        running.call.caller(),
                        running.lease.remaining().toMillis());
            }
        }
        return names;
    }

    /** One hold, compared by identity. */
    static final class Running {
        private final LockCall call;
        private final Lease lease;

        private Running(LockCall call, Lease lease) {
            this.call = call;
            this.lease = lease;
        }

        void end() {
            ALL.remove(this);
        }
    }
}
