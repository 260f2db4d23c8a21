package dev.holdfast.lock.etcd.internal.acquisition;

import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.Grant;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** Whether one acquisition waits, holds or has ended, with its latest attempt and its grant. Thread-safe. */
final class AcquisitionPhase {
    private enum State {
        /** No answer has confirmed yet that the acquisition waits or holds. */
        CONTENDING,
        /** Its key is in the queue. */
        WAITING,
        /** Granted by an attempt or a hand-over. */
        HELD,
        /** Nothing of it is left on the server, or only until its leases end. */
        ENDED
    }

    /**
     * An attempt.
     *
     * @param nanos when it began, by the monotonic clock
     */
    record Attempt(AcquireRequest request, long nanos) {}

    /** The create revision of the key as last seen. */
    private final LongSupplier created;
    /** Guards the decision between waiting and holding. */
    private final ReentrantLock mutex = new ReentrantLock();

    private volatile State state = State.CONTENDING;
    private volatile boolean ending;
    private volatile @Nullable Attempt attempt;
    private volatile @Nullable Grant grant;
    private volatile long requestedMillis;

    AcquisitionPhase(LongSupplier created) {
        this.created = created;
    }

    void beginAttempt(AcquireRequest request, long nanos) {
        mutex.lock();
        try {
            attempt = new Attempt(request, nanos);
        } finally {
            mutex.unlock();
        }
    }

    /** The latest attempt, unless it was granted. */
    @Nullable Attempt attempt() {
        return attempt;
    }

    /** The grant, while held. */
    @Nullable Grant grant() {
        return grant;
    }

    /** The requested lease. */
    long requestedMillis() {
        return requestedMillis;
    }

    /** Notes the grant of an attempt, if the key is still the one of that grant; returns whether it is. */
    boolean hold(Grant granted, long leaseMillis) {
        mutex.lock();
        try {
            boolean same = created.getAsLong() == granted.token();
            if (same) {
                setHeld(granted, leaseMillis);
            }
            return same;
        } finally {
            mutex.unlock();
        }
    }

    private void setHeld(Grant granted, long leaseMillis) {
        requestedMillis = leaseMillis;
        grant = granted;
        attempt = null; // it would keep the caller reachable while the lock is held
        if (state != State.ENDED) {
            state = State.HELD;
        }
    }

    /**
     * Notes a hand-over, if the acquisition still waits with the key of that grant, and has made no later attempt. The
     * answer of a later attempt could report it as waiting.
     *
     * @param onlyKey whether no creation is open
     * @param lastsLongEnough whether the key lasts for the granted time, asked once the acquisition counts as held
     * @return whether the acquisition holds
     */
    boolean handOver(Grant granted, Attempt to, BooleanSupplier onlyKey, BooleanSupplier lastsLongEnough) {
        mutex.lock();
        try {
            boolean waits =
                    attempt == to && isWaiting() && onlyKey.getAsBoolean() && created.getAsLong() == granted.token();
            if (!waits) {
                return false;
            }
            setHeld(granted, to.request().leaseMillis());
            if (lastsLongEnough.getAsBoolean()) {
                return true; // from now on, the end of a lease or an unsent move finds a held acquisition
            }
            if (state == State.HELD) {
                state = State.WAITING;
            }
            grant = null;
            attempt = to;
            return false;
        } finally {
            mutex.unlock();
        }
    }

    /**
     * Notes the answer to an attempt that the acquisition waits, unless it was handed the lock since.
     *
     * @return the grant of a hand-over for a key that is not the present one, or null
     */
    @Nullable Grant keepWaiting() {
        mutex.lock();
        try {
            Grant held = state == State.HELD ? grant : null;
            if (state == State.ENDED || held != null && held.token() == created.getAsLong()) {
                return null;
            }
            state = State.WAITING;
            grant = null;
            return held;
        } finally {
            mutex.unlock();
        }
    }

    void beginEnd() {
        ending = true;
    }

    void end() {
        mutex.lock();
        try {
            state = State.ENDED;
        } finally {
            mutex.unlock();
        }
    }

    boolean isWaiting() {
        return state == State.WAITING && !ending;
    }

    boolean isHeld() {
        return state == State.HELD;
    }

    boolean isEnding() {
        return ending || state == State.ENDED;
    }

    boolean isEnded() {
        return state == State.ENDED;
    }
}
