package dev.holdfast.lock.testkit.server.network;

import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/** What a {@link FaultProxy} does to bytes at the moment. Thread-safe. */
final class ProxyModes {

    private static final class Mode {
        boolean swallow;
        boolean hold;
        long delayNanos;
    }

    private static final int NEVER = -1;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final Map<Direction, Mode> modes = new EnumMap<>(Direction.class);
    private int answered = NEVER;
    private boolean dropped;
    private final AtomicLong pieces = new AtomicLong();

    ProxyModes() {
        reset();
    }

    void pieceToServer() {
        pieces.incrementAndGet();
    }

    long piecesToServer() {
        return pieces.get();
    }

    void clear() {
        lock.lock();
        try {
            reset();
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private void reset() {
        for (Direction direction : Direction.values()) {
            modes.put(direction, new Mode());
        }
        answered = NEVER;
        dropped = false;
    }

    void swallow(Direction direction) {
        change(() -> mode(direction).swallow = true);
    }

    void hold(Direction direction) {
        change(() -> mode(direction).hold = true);
    }

    void delay(Direction direction, long delayNanos) {
        change(() -> mode(direction).delayNanos = delayNanos);
    }

    void dropRepliesAfter(int requests) {
        if (requests < 0) {
            throw new IllegalArgumentException("requests must not be negative: " + requests);
        }
        change(() -> {
            answered = requests;
            dropped = false;
        });
    }

    boolean awaitDropped(long nanos) throws InterruptedException {
        long left = nanos;
        lock.lockInterruptibly();
        try {
            while (!dropped && left > 0) {
                left = changed.awaitNanos(left);
            }
            return dropped;
        } finally {
            lock.unlock();
        }
    }

    /** Whether bytes that arrive now are thrown away. */
    boolean swallows(Direction direction) {
        lock.lock();
        try {
            return mode(direction).swallow;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Counts a request.
     *
     * @return whether its reply must be thrown away
     */
    boolean dropsReplyOfNextRequest() {
        lock.lock();
        try {
            if (answered == NEVER) {
                return false;
            }
            if (answered > 0) {
                answered--;
                return false;
            }
            return true;
        } finally {
            lock.unlock();
        }
    }

    void replyDropped() {
        change(() -> dropped = true);
    }

    /** Waits until bytes that arrived at a time may be delivered. */
    void awaitDelivery(Direction direction, long arrivedNanos, Sender sender) throws InterruptedException {
        lock.lockInterruptibly();
        try {
            while (!sender.isEnded()) {
                Mode mode = mode(direction);
                long wait = mode.delayNanos - (System.nanoTime() - arrivedNanos);
                if (mode.hold) {
                    changed.await(100, TimeUnit.MILLISECONDS);
                } else if (wait > 0) {
                    changed.awaitNanos(wait);
                } else {
                    return;
                }
            }
        } finally {
            lock.unlock();
        }
    }

    /** Tells whether the connection has ended meanwhile. */
    @FunctionalInterface
    interface Sender {
        boolean isEnded();
    }

    private void change(Runnable change) {
        lock.lock();
        try {
            change.run();
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private Mode mode(Direction direction) {
        return java.util.Objects.requireNonNull(modes.get(direction));
    }
}
