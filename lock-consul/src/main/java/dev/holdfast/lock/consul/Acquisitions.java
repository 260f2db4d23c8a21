package dev.holdfast.lock.consul;

import dev.holdfast.lock.spi.AcquisitionId;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The acquisitions of this client: what each one holds, and which of its attempts may still be executed. An acquisition
 * with neither is not kept. Thread-safe.
 */
final class Acquisitions {
    private final ReentrantLock lock = new ReentrantLock();
    private final Map<AcquisitionId, State> states = new HashMap<>();

    /** An attempt without a definite answer: it can be executed while the session has that epoch. */
    record Sent(ConsulSession session, long epoch) {}

    /**
     * What an acquisition may have on the server.
     *
     * @param unanswered attempts without a definite answer
     * @param hold the granted hold, or null
     */
    record Traces(List<Sent> unanswered, @Nullable ConsulHold hold) {
        boolean isEmpty() {
            return unanswered.isEmpty() && hold == null;
        }
    }

    private static final class State {
        private int calls;
        private boolean abandoned;
        private boolean closed;
        private final List<Sent> unanswered = new ArrayList<>();
        private @Nullable ConsulHold hold;

        private boolean isIdle() {
            return calls == 0 && unanswered.isEmpty() && hold == null;
        }
    }

    /** A call of {@code tryAcquire} starts. */
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
                removeIfIdle(id, state);
            }
        } finally {
            lock.unlock();
        }
    }

    /** Records an attempt before it is sent; null if the acquisition was abandoned meanwhile. */
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

    /** The attempt was refused or not sent, so it leaves nothing. */
    void refused(AcquisitionId id, Sent sent) {
        lock.lock();
        try {
            State state = states.get(id);
            if (state != null) {
                state.unanswered.remove(sent);
                removeIfIdle(id, state);
            }
        } finally {
            lock.unlock();
        }
    }

    /** Records a grant; false if the acquisition was abandoned meanwhile, which ends the grant. */
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
            if (!state.closed) {
                state.hold = hold; // even if abandoned: the abandonment may have to be repeated
            }
            return !state.abandoned;
        } finally {
            lock.unlock();
        }
    }

    /** Whether this acquisition may hold the lock although its attempt was refused. */
    boolean mayHold(AcquisitionId id) {
        lock.lock();
        try {
            State state = states.get(id);
            return state != null && (state.calls > 1 || !state.unanswered.isEmpty() || state.hold != null);
        } finally {
            lock.unlock();
        }
    }

    /** What the acquisition may have on the server. */
    Traces traces(AcquisitionId id) {
        return traces(id, false);
    }

    /** Returns the same, and prevents further attempts and grants. */
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

    /** The acquisition has nothing on the server any more, and none of its attempts can be executed. */
    void ended(AcquisitionId id) {
        lock.lock();
        try {
            State state = states.get(id);
            if (state != null) {
                state.unanswered.clear();
                state.hold = null;
                state.closed = state.abandoned; // its grant may be reported after its end
                removeIfIdle(id, state);
            }
        } finally {
            lock.unlock();
        }
    }

    /** The number of acquisitions, for tests. */
    int size() {
        lock.lock();
        try {
            return states.size();
        } finally {
            lock.unlock();
        }
    }

    private void removeIfIdle(AcquisitionId id, State state) {
        if (state.isIdle()) {
            states.remove(id);
        }
    }
}
