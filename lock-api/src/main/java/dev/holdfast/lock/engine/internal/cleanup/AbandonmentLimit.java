package dev.holdfast.lock.engine.internal.cleanup;

import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Sends a limited number of a name's abandonments at a time; further ones wait in their order. A thousand waiters for permits may
 * leave at once, and renewals must not wait behind a thousand requests of the same connection or server. Each name has a line of
 * its own, so that a name whose abandonments get no answer delays no other. Thread-safe.
 */
final class AbandonmentLimit {
    static final int MAX_AT_ONCE = 32;

    /** The lines of the names with an abandonment that was not answered. */
    private final ConcurrentMap<String, Line> lines = new ConcurrentHashMap<>();

    /** Sends one abandonment. */
    interface Abandonment {
        /**
         * Sends it.
         *
         * @param answered runs when it was answered, failed or took too long
         */
        void send(Runnable answered);
    }

    void add(String name, Abandonment abandonment) {
        lines.compute(name, (key, line) -> {
                    Line present = line == null ? new Line(name) : line;
                    present.unanswered++;
                    return present;
                })
                .add(abandonment);
    }

    /** The number of names with an abandonment that was not answered. */
    int names() {
        return lines.size();
    }

    private final class Line {
        private final String name;
        private final Queue<Abandonment> waiting = new ConcurrentLinkedQueue<>();
        private final AtomicInteger inFlight = new AtomicInteger();
        /** How often {@link #sendNext} was called during its present run. */
        private final AtomicInteger calls = new AtomicInteger();
        /** Those that wait or are in flight; changed only inside the map's {@code compute}. */
        private int unanswered;

        Line(String name) {
            this.name = name;
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
                    lines.computeIfPresent(name, (key, line) -> --line.unanswered == 0 ? null : line);
                }
            };
            try {
                next.send(answered);
            } catch (Throwable e) { // no memory: the entry ends with its lease or with the session
                answered.run();
            }
        }
    }
}
