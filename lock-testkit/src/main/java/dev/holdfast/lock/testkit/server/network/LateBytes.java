package dev.holdfast.lock.testkit.server.network;

import java.time.Duration;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;

/**
 * What the connections that existed at a moment send in one direction from then on, held back until delivery, complete
 * and in order. Meanwhile clients go on over new connections. In this way a network, a stalled proxy or a paused server's
 * socket makes a request arrive long after its client has given it up.
 *
 * <p>Ends and resets of these connections are dropped: neither side learns that the other has gone.
 *
 * <p>Made by {@link FaultProxy#keepBack}. Thread-safe.
 */
public final class LateBytes {
    private static final long QUIET_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final Direction direction;
    private final Set<ProxyConnection> connections;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private int pieces;
    private int waiting;
    private boolean cutOff;
    private boolean delivering;
    private boolean torn;

    LateBytes(Direction direction, Set<ProxyConnection> connections) {
        this.direction = direction;
        this.connections = connections;
    }

    /**
     * Waits until something is kept back.
     *
     * @param patience how long to wait
     * @return whether there is something
     * @throws InterruptedException if interrupted while waiting
     */
    public boolean awaitSome(Duration patience) throws InterruptedException {
        long left = patience.toNanos();
        lock.lockInterruptibly();
        try {
            while (pieces == 0 && left > 0) {
                left = changed.awaitNanos(left);
            }
            return pieces > 0;
        } finally {
            lock.unlock();
        }
    }

    /** Loses what is sent from now on by these connections: a cancellation, say, of the request that is kept back. */
    public void cutOff() {
        change(() -> cutOff = true);
    }

    /** Resets the clients' side of these connections, so that they go on over new ones. The server gets no notice. */
    public void dropClients() {
        connections.forEach(ProxyConnection::resetClient);
    }

    /** Delivers what was kept back, and from now on what is sent, unless it is {@linkplain #cutOff cut off}. */
    public void deliver() {
        change(() -> delivering = true);
    }

    /**
     * Delivers the first half of each piece that was kept back, and then resets the receiver's side of that connection: a
     * request or reply that is torn.
     */
    public void deliverTorn() {
        change(() -> {
            cutOff = true;
            torn = true;
            delivering = true;
        });
    }

    /**
     * Waits until nothing more arrives to be kept back, for a tenth of a second.
     *
     * @param patience how long to wait
     * @return whether it became quiet
     * @throws InterruptedException if interrupted while waiting
     */
    public boolean awaitQuiet(Duration patience) throws InterruptedException {
        long end = System.nanoTime() + patience.toNanos();
        lock.lockInterruptibly();
        try {
            int before = -1;
            while (before != pieces) {
                if (System.nanoTime() - end > 0) {
                    return false;
                }
                before = pieces;
                long left = QUIET_NANOS;
                while (left > 0 && before == pieces) {
                    left = changed.awaitNanos(left);
                }
            }
            return true;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Waits until everything that was kept back has been written to its receiver, or cannot be because that has ended the
     * connection. It has then arrived, but need not have been worked on.
     *
     * @param patience how long to wait
     * @return whether it was written in time
     * @throws InterruptedException if interrupted while waiting
     */
    public boolean awaitDelivered(Duration patience) throws InterruptedException {
        long left = patience.toNanos();
        lock.lockInterruptibly();
        try {
            while (waiting > 0 && left > 0) {
                left = changed.awaitNanos(left);
            }
            return waiting == 0;
        } finally {
            lock.unlock();
        }
    }

    /** Ends these connections: the server learns that its clients have gone, and the clients that it has. */
    public void end() {
        connections.forEach(ProxyConnection::reset);
    }

    Direction direction() {
        return direction;
    }

    /** Bytes have arrived. Returns whether they must be kept. */
    boolean arrived() {
        lock.lock();
        try {
            if (cutOff) {
                return false;
            }
            pieces++;
            waiting++;
            changed.signalAll();
            return true;
        } finally {
            lock.unlock();
        }
    }

    /** A piece that had {@linkplain #arrived arrived} was written, or never can be. */
    void left() {
        change(() -> waiting--);
    }

    boolean isTorn() {
        lock.lock();
        try {
            return torn;
        } finally {
            lock.unlock();
        }
    }

    void awaitDelivery(BooleanSupplier ended) throws InterruptedException {
        lock.lockInterruptibly();
        try {
            while (!delivering && !ended.getAsBoolean()) {
                changed.await(100, TimeUnit.MILLISECONDS);
            }
        } finally {
            lock.unlock();
        }
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
}
