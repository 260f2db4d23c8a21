package dev.holdfast.lock.engine.internal.hold;

import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** Lost holds for whose report there was no memory; needs none itself. Thread-safe. */
final class UnreportedLosses {
    private final AtomicReference<@Nullable Hold> latest = new AtomicReference<>();

    void add(Hold hold) {
        Hold before;
        do {
            before = latest.get();
            hold.nextUnreported = before;
        } while (!latest.compareAndSet(before, hold));
    }

    /** Returns the latest, which leads to the others. */
    @Nullable Hold takeAll() {
        return latest.getAndSet(null);
    }

    boolean isEmpty() {
        return latest.get() == null;
    }
}
