package dev.holdfast.lock.consul;

import dev.holdfast.lock.spi.AcquisitionId;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * What this client knows of its acquisitions: what they hold, and which of their attempts may still be carried out. An
 * acquisition without either is not kept. Thread-safe.
 */
final class Acquisitions {
    private final ReentrantLock lock = new ReentrantLock();
    private final Map<AcquisitionId, State> states = new HashMap<>();

    /** An attempt that has no definite answer yet: it can be carried out as long as the session has that epoch. */
    record Sent(ConsulSession session, long epoch) {}

    /**
     * What an acquisition may have on the server.
     *
     * @param unanswered attempts without a definite answer
     * @param hold what it has been granted, or null
     */
    record Traces(List<Sent> unanswered, @Nullable ConsulHold hold) {
        boolean isEmpty() {
            return unanswered.isEmpty() && hold == null;
        }
    }

    private static final class State {
        private int calls;
        private boolean abandoned;
        private boolean over;
        private final List<Sent> unanswered = new ArrayList<>();
        private @Nullable ConsulHold hold;

        private boolean isIdle() {
            return calls == 0 && unanswered.isEmpty() && hold == null;
        }
    }

    /** A call of {@code tryAcquire} begins. */
    void enter(AcquisitionId id) {
        lock.lock();
        try {
            states.computeIfAbsent(id, key -> new State()).calls++;
        } finally {
            lock.unlock();
        }
    }

    /** A call of {@code tryAcquire} has ended. */
    void leave(AcquisitionId id) {
        lock.lock();
        try {
            State state = states.get(id);
            if (state != null) {
                state.calls--;
                forgetIfIdle(id, state);
            }
        } finally {
            lock.unlock();
        }
    }

    /** An attempt is about to be sent; null if the acquisition was abandoned meanwhile. */
    @Nullable Sent send(AcquisitionId id, ConsulSession session) {
        lock.lock();
        try {
            State state = states.get(id);
            if (state == null || state.abandoned) {
                return null;
            }
            Sent sent = new Sent(session, session.epoch());
            state.unanswered.add(sent);
            return sent;
        } finally {
            lock.unlock();
        }
    }

    /** The attempt was refused, or not sent: it leaves nothing. */
    void refused(AcquisitionId id, Sent sent) {
        lock.lock();
        try {
            State state = states.get(id);
            if (state != null) {
                state.unanswered.remove(sent);
                forgetIfIdle(id, state);
            }
        } finally {
            lock.unlock();
        }
    }

    /** The attempt was granted. False if the acquisition was abandoned meanwhile, which ends the grant. */
    boolean granted(AcquisitionId id, @Nullable Sent sent, ConsulHold hold) {
        lock.lock();
        try {
            State state = states.get(id);
            if (state == null) {
                return false;
            }
            if (sent != null) {
                state.unanswered.remove(sent);
            }
            if (!state.over) {
                state.hold = hold; // also if abandoned: the abandonment may have to be repeated
            }
            return !state.abandoned;
        } finally {
            lock.unlock();
        }
    }

    /** Whether the lock may be this acquisition's own, though its attempt was refused. */
    boolean mayHold(AcquisitionId id) {
        lock.lock();
        try {
            State state = states.get(id);
            return state != null && (state.calls > 1 || !state.unanswered.isEmpty() || state.hold != null);
        } finally {
            lock.unlock();
        }
    }

    /** What it may have on the server. */
    Traces traces(AcquisitionId id) {
        return traces(id, false);
    }

    /** The same; from now on it sends no attempts, and none is granted. */
    Traces abandon(AcquisitionId id) {
        return traces(id, true);
    }

    private Traces traces(AcquisitionId id, boolean abandon) {
        lock.lock();
        try {
            State state = states.get(id);
            if (state == null) {
                return new Traces(List.of(), null);
            }
            state.abandoned |= abandon;
            return new Traces(List.copyOf(state.unanswered), state.hold);
        } finally {
            lock.unlock();
        }
    }

    /** Nothing of it is on the server any more, and no attempt of which this client knew can be carried out. */
    void ended(AcquisitionId id) {
        lock.lock();
        try {
            State state = states.get(id);
            if (state != null) {
                state.unanswered.clear();
                state.hold = null;
                state.over = state.abandoned; // its grant may be told later than its end
                forgetIfIdle(id, state);
            }
        } finally {
            lock.unlock();
        }
    }

    /** How many are known, for tests. */
    int size() {
        lock.lock();
        try {
            return states.size();
        } finally {
            lock.unlock();
        }
    }

    private void forgetIfIdle(AcquisitionId id, State state) {
        if (state.isIdle()) {
            states.remove(id);
        }
    }
}
