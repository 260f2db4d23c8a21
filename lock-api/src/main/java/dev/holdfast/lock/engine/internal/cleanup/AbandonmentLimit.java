package dev.holdfast.lock.engine.internal.cleanup;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Sends a limited number of abandonments at a time; further ones wait in their order. A thousand waiters for permits may leave at
 * once, and renewals must not wait behind a thousand requests of the same connection or server. Thread-safe.
 */
final class AbandonmentLimit {
    static final int MAX_AT_ONCE = 32;

    private final Queue<Abandonment> waiting = new ConcurrentLinkedQueue<>();
    private final AtomicInteger inFlight = new AtomicInteger();
    /** How often {@link #sendNext} was called during its present run. */
    private final AtomicInteger calls = new AtomicInteger();

    /** Sends one abandonment. */
    interface Abandonment {
        /**
         * Sends it.
         *
         * @param answered runs when it was answered, failed or took too long
         */
        void send(Runnable answered);
    }

    void add(Abandonment abandonment) {
        waiting.add(abandonment);
        sendNext();
    }

    /** Not recursive: an abandonment that is answered at once calls this method again, which then only counts. */
    private void sendNext() {
        if (calls.getAndIncrement() != 0) {
            return;
        }
        do {
            while (inFlight.get() < MAX_AT_ONCE) {
                Abandonment next = waiting.poll();
                if (next == null) {
                    break;
                }
                inFlight.incrementAndGet();
                send(next);
            }
        } while (calls.decrementAndGet() != 0);
    }

    private void send(Abandonment next) {
        AtomicBoolean done = new AtomicBoolean();
        Runnable answered = () -> {
            if (done.compareAndSet(false, true)) {
                inFlight.decrementAndGet();
                sendNext();
            }
        };
        try {
            next.send(answered);
        } catch (Throwable e) { // no memory: the entry ends with its lease or with the session
            answered.run();
        }
    }
}
