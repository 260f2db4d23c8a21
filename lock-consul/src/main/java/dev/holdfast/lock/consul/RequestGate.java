package dev.holdfast.lock.consul;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;

/**
 * Lets so many requests be under way at once; the others wait in line. An agent closes the connections of a client that has
 * more than 200, and HTTP/1.1 needs one for each request. Thread-safe; never blocks.
 */
final class RequestGate {
    private final ReentrantLock lock = new ReentrantLock();
    private final Queue<BooleanSupplier> line = new ArrayDeque<>();
    private int free;

    RequestGate(int size) {
        free = size;
    }

    /**
     * Begins it now, or when others have left.
     *
     * @param request returns false if it need not begin any more; then it is out again
     */
    void enter(BooleanSupplier request) {
        lock.lock();
        try {
            if (free == 0) {
                line.add(request);
                return;
            }
            free--;
        } finally {
            lock.unlock();
        }
        if (!request.getAsBoolean()) {
            leave();
        }
    }

    /** Whether one more may come in at once; the caller leaves again. */
    boolean tryEnter() {
        lock.lock();
        try {
            if (free == 0) {
                return false;
            }
            free--;
            return true;
        } finally {
            lock.unlock();
        }
    }

    /** One request has ended. */
    void leave() {
        while (true) { // no recursion: thousands in the line may be out of time
            BooleanSupplier next;
            lock.lock();
            try {
                next = line.poll();
                if (next == null) {
                    free++;
                    return;
                }
            } finally {
                lock.unlock();
            }
            if (next.getAsBoolean()) {
                return;
            }
        }
    }
}
