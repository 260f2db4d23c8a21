package dev.holdfast.lock.testkit.server;

import java.time.Duration;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;

/**
 * What the connections that existed at a moment send in one direction from then on, kept back until it is delivered, whole
 * and in order. Meanwhile everybody goes on over new connections. That is how a network, a stalled proxy or a paused
 * server's socket makes a request arrive long after its client has given it up.
 *
 * <p>Ends and resets of these connections reach nobody: neither side learns that the other has gone.
 *
 * <p>Made by {@link FaultProxy#keepBack}. Thread-safe.
 */
public final class LateBytes {
    private final Direction direction;
    private final Set<ProxyConnection> connections;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private int pieces;
    private boolean cutOff;
    private boolean delivering;

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

    /** Resets the clients' side of these connections, so that they go on over new ones. The server is not told. */
    public void dropClients() {
        connections.forEach(ProxyConnection::resetClient);
    }

    /** Delivers what was kept back, and from now on what is sent, unless it is {@linkplain #cutOff cut off}. */
    public void deliver() {
        change(() -> delivering = true);
    }

    Direction direction() {
        return direction;
    }

    /** Bytes have arrived. Returns whether they are to be kept. */
    boolean arrived() {
        lock.lock();
        try {
            if (cutOff) {
                return false;
            }
            pieces++;
            changed.signalAll();
            return true;
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
