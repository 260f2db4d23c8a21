package dev.holdfast.lock.micrometer;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;

/** Meters that ask a client for their values, to be removed with it. Thread-safe. */
final class RegisteredMeters implements AutoCloseable {
    private final MeterRegistry registry;
    private final ReentrantLock guard = new ReentrantLock();
    private final List<Meter> meters = new ArrayList<>();
    private boolean closed;

    RegisteredMeters(MeterRegistry registry) {
        this.registry = registry;
    }

    /** Registers a gauge, unless closed: an event may still arrive then. */
    void add(Gauge.Builder<?> gauge) {
        guard.lock();
        try {
            if (!closed) {
                meters.add(gauge.register(registry));
            }
        } finally {
            guard.unlock();
        }
    }

    /** Registers a counter, unless closed. */
    void add(FunctionCounter.Builder<?> counter) {
        guard.lock();
        try {
            if (!closed) {
                meters.add(counter.register(registry));
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
