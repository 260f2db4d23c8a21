package dev.holdfast.lock.consul;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;

/**
 * Lets so many requests be under way at once; the others wait in line, or in the one that goes first. An agent closes the connections of a client that has
 * more than 200, and HTTP/1.1 needs one for each request. Thread-safe; never blocks.
 */
final class RequestGate {
    private final ReentrantLock lock = new ReentrantLock();
    private final Queue<BooleanSupplier> firstLine = new ArrayDeque<>();
    private final Queue<BooleanSupplier> line = new ArrayDeque<>();
    private boolean beginning;
    private int free;

    RequestGate(int size) {
        free = size;
    }

    /**
     * Begins it now, or when others have left.
     *
     * @param first whether it goes before those that are not
     * @param request returns false if it need not begin any more; then it is out again
     */
    void enter(boolean first, BooleanSupplier request) {
        lock.lock();
        try {
            (first ? firstLine : line).add(request);
        } finally {
            lock.unlock();
        }
        begin();
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
        lock.lock();
        try {
            free++;
        } finally {
            lock.unlock();
        }
        begin();
    }

    /** One thread at a time, and no recursion: thousands in the line may be out of time, or fail at once. */
    private void begin() {
        boolean left = false;
        lock.lock();
        try {
            if (beginning) {
                return; // whoever begins others, this thread perhaps, sees what has changed
            }
            beginning = true;
        } finally {
            lock.unlock();
        }
        while (true) {
            BooleanSupplier next;
            lock.lock();
            try {
                free += left ? 1 : 0;
                Queue<BooleanSupplier> from = firstLine.isEmpty() ? line : firstLine;
                next = free == 0 ? null : from.poll();
                if (next == null) {
                    beginning = false;
                    return;
                }
                free--;
            } finally {
                lock.unlock();
            }
            left = !begins(next);
        }
    }

    private static boolean begins(BooleanSupplier request) {
        try {
            return request.getAsBoolean();
        } catch (RuntimeException e) {
            return false; // requests report their failures themselves; the gate must go on
        }
    }
}
