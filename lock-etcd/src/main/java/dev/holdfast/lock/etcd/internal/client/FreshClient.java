package dev.holdfast.lock.etcd.internal.client;

import io.etcd.jetcd.Client;
import java.time.Duration;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * A jetcd client that is replaced before its first call after an idle time. Firewalls, NATs and load balancers drop idle
 * connections without notice, some after a minute. The first call on such a connection would have no answer, so a single
 * {@code tryLock} every hour would fail each time. etcd does not allow pings on idle connections, and a request now and
 * then would cost an idle client something.
 *
 * <p>No call is under way then: calls end after the request time-out, and waiting clients poll. Thread-safe.
 */
public final class FreshClient implements Supplier<Client> {
    /** Below the idle limit of usual devices, which is a minute or more. */
    public static final Duration MAX_IDLE = Duration.ofSeconds(45);

    private final Supplier<Client> factory;
    private final LongSupplier nanos;
    private final ReentrantLock mutex = new ReentrantLock();
    private volatile Client current;
    private volatile long lastNanos;
    private boolean closed;

    /**
     * Creates it with its first client.
     *
     * @param factory creates clients without connecting
     * @param nanos the monotonic clock
     */
    public FreshClient(Client first, Supplier<Client> factory, LongSupplier nanos) {
        this.factory = factory;
        this.nanos = nanos;
        this.current = first;
        this.lastNanos = nanos.getAsLong();
    }

    @Override
    public Client get() {
        if (isIdle()) {
            replace();
        }
        lastNanos = nanos.getAsLong();
        return current;
    }

    private boolean isIdle() {
        return nanos.getAsLong() - lastNanos >= MAX_IDLE.toNanos();
    }

    private void replace() {
        Client before;
        mutex.lock();
        try {
            if (closed || !isIdle()) {
                return;
            }
            before = current;
            current = factory.get();
            lastNanos = nanos.getAsLong();
        } finally {
            mutex.unlock();
        }
        before.close();
    }

    /** Closes the present client; there will be no other. */
    public void close() {
        mutex.lock();
        try {
            closed = true;
        } finally {
            mutex.unlock();
        }
        current.close();
    }
}
