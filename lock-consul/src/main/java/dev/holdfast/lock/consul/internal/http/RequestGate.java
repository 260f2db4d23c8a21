package dev.holdfast.lock.consul.internal.http;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;

/**
 * Limits the number of concurrent requests. The others wait in two queues, one of which has priority. An agent closes
 * the connections of a client that has more than 200, and HTTP/1.1 needs one for each request. Thread-safe; never
 * blocks.
 */
public final class RequestGate {
    private final ReentrantLock lock = new ReentrantLock();
    private final Queue<BooleanSupplier> priorityQueue = new ArrayDeque<>();
    private final Queue<BooleanSupplier> queue = new ArrayDeque<>();
    private boolean starting;
    private int free;

    public RequestGate(int size) {
        free = size;
    }

    /**
     * Starts a request now, or when others have left.
     *
     * @param first whether it precedes requests without priority
     * @param request returns false if it need not start any more; then its permit is returned
     */
    void enter(boolean first, BooleanSupplier request) {
        lock.lock();
        try {
            (first ? priorityQueue : queue).add(request);
        } finally {
            lock.unlock();
        }
        start();
    }

    /** Enters at once if possible; then the caller must leave again. */
    public boolean tryEnter() {
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

    /** A request has ended. */
    public void leave() {
        lock.lock();
        try {
            free++;
        } finally {
            lock.unlock();
        }
        start();
    }

    /**
     * Starts waiting requests. Only one thread does so at a time, without recursion, since thousands of waiting
     * requests may be overdue or fail at once.
     */
    private void start() {
        boolean left = false;
        lock.lock();
        try {
            if (starting) {
                return; // the thread that starts requests, perhaps this one, sees the change
            }
            starting = true;
        } finally {
            lock.unlock();
        }
        while (true) {
            BooleanSupplier next;
            lock.lock();
            try {
                free += left ? 1 : 0;
                Queue<BooleanSupplier> from = priorityQueue.isEmpty() ? queue : priorityQueue;
                next = free == 0 ? null : from.poll();
                if (next == null) {
                    starting = false;
                    return;
                }
                free--;
            } finally {
                lock.unlock();
            }
            left = !starts(next);
        }
    }

    private static boolean starts(BooleanSupplier request) {
        try {
            return request.getAsBoolean();
        } catch (Throwable e) { // an Error too
            return false; // requests report their own failures; the gate must continue
        }
    }
}
