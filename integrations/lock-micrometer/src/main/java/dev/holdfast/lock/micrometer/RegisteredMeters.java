package dev.holdfast.lock.micrometer;

import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

/** Meters that ask a client for their values, to be removed with it. Thread-safe. */
final class RegisteredMeters implements AutoCloseable {
    private final MeterRegistry registry;
    private final ReentrantLock guard = new ReentrantLock();
    private final List<Meter> meters = new ArrayList<>();
    private boolean closed;

    RegisteredMeters(MeterRegistry registry) {
        this.registry = registry;
    }

    /** Registers a meter, unless closed: an event may still be on its way then. */
    void add(Supplier<? extends Meter> registration) {
        guard.lock();
        try {
            if (!closed) {
                meters.add(registration.get());
            }
        } finally {
            guard.unlock();
        }
    }

    /** Removes the meters. */
    @Override
    public void close() {
        guard.lock();
        try {
            closed = true;
            meters.forEach(registry::remove);
            meters.clear();
        } finally {
            guard.unlock();
        }
    }
}
