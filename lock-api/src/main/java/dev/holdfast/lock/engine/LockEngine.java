package dev.holdfast.lock.engine;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.engine.internal.client.EngineClient;
import dev.holdfast.lock.engine.internal.client.EngineLease;
import dev.holdfast.lock.engine.internal.runtime.EngineRuntime;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.LockName;
import dev.holdfast.lock.spi.support.BackgroundLog;
import dev.holdfast.lock.spi.support.EarlyClasses;

/** Creates a {@link LockClient} on a {@link LockBackend}. */
public final class LockEngine {
    /** Those that neither the start of a client nor its first lock initializes. */
    private static final String[] LATE_CLASSES = {
        "AttemptOutcome",
        "LossReason",
        "StoreFinding$Grade",
        "engine.internal.hold.Hold$Loss",
        "engine.internal.queue.SelfWait$1",
        "engine.internal.queue.Waiter$1",
        "recipe.StandingElection",
        "spi.support.PortProbe$1",
        "spi.support.PortProbe$Answer",
        "spi.support.PortProbe$Finding",
    };

    private LockEngine() {}

    /**
     * Creates a client. It owns the backend and closes it.
     *
     * @param backend the store
     * @param options the client's options
     * @return an open client
     * @throws IllegalArgumentException if the default lease is shorter than the backend supports, or the default options request
     *     a fair order that it does not support
     */
    public static LockClient client(LockBackend backend, LockClientOptions options) {
        EarlyClasses.initialize(LockClient.class, LATE_CLASSES);
        EngineRuntime runtime = EngineRuntime.ofThreads();
        try {
            return new EngineClient(backend, options, runtime).start();
        } catch (RuntimeException e) {
            runtime.shutdown().run();
            backend.close();
            throw e;
        }
    }

    /**
     * Returns the server's grant behind a lease, for features of a backend beyond locking. The grant outlives the hold: it does
     * not show whether the lease is still valid.
     *
     * @param lease a lease of a client that this engine created
     * @return the grant, with the backend's own token and handle
     * @throws IllegalArgumentException if the lease is of another kind
     */
    public static Grant grant(Lease lease) {
        if (lease instanceof EngineLease ours) {
            return ours.grant();
        }
        throw new IllegalArgumentException("lock '" + LockName.printable(lease.name()) + "': "
                + lease.getClass().getName()
                + " is not a lease of this library's engine; pass the lease that the lock returned");
    }

    /**
     * Waits until the lines that this library has logged so far have been written: a thread of its own writes them, so that a slow
     * appender delays no lock. For tests that read the log.
     *
     * @param timeoutMillis how long to wait at most, in milliseconds; the method returns then in any case. If the thread is
     *     interrupted it returns at once, and the thread stays interrupted
     */
    public static void flushLog(long timeoutMillis) {
        BackgroundLog.flush(timeoutMillis);
    }
}
