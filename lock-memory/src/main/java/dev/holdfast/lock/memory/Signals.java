package dev.holdfast.lock.memory;

import dev.holdfast.lock.spi.support.BackgroundLog;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Runs callbacks one after the other, outside any lock, on the thread that delivers them. A callback that leads to another one
 * (signal, attempt, grant, release, signal …) does not nest: the stack stays flat.
 */
final class Signals {
    private static final BackgroundLog LOG = BackgroundLog.of(Signals.class);

    private final Queue<Runnable> pending = new ConcurrentLinkedQueue<>();
    private final AtomicInteger undelivered = new AtomicInteger();

    /** Adds a callback; {@link #deliver} must follow. */
    void add(Runnable callback) {
        pending.add(callback);
    }

    /** Runs the pending callbacks, unless another call, perhaps further up on this stack, is already doing so. */
    void deliver() {
        if (pending.isEmpty() || undelivered.getAndIncrement() != 0) {
            return;
        }
        int seen = 1;
        do {
            Runnable callback = pending.poll();
            while (callback != null) {
                run(callback);
                callback = pending.poll();
            }
            seen = undelivered.addAndGet(-seen);
        } while (seen != 0);
    }

    private static void run(Runnable callback) {
        try {
            callback.run();
        } catch (RuntimeException | Error e) { // otherwise no further callback would be delivered
            LOG.warn("memory store: a signal's callback failed; the waiter polls later", e);
        }
    }
}
