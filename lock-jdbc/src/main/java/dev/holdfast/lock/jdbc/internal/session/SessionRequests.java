package dev.holdfast.lock.jdbc.internal.session;

import java.sql.SQLTransientConnectionException;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;

/**
 * The requests that wait for one session, which runs one statement at a time. Those that arrive while a statement runs are sent together
 * by the next one, so that a crowd of callers needs few round trips.
 *
 * <p>A thread of the client sends them. A caller may leave before the answer, and a statement that is cut short ends the session
 * with all its locks. A caller sends its own request only if no lock of another one depends on that. Thread-safe.
 */
final class SessionRequests {
    /** How many requests of a kind one statement has at most: drivers and servers keep each number's statement prepared. */
    static final int TOGETHER = 16;

    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(2);

    private final Executor executor;
    private final Sender sender;
    private final Queue<SessionRequest<OptionalLong>> locks = new ConcurrentLinkedQueue<>();
    private final Queue<SessionRequest<Boolean>> unlocks = new ConcurrentLinkedQueue<>();
    private final AtomicBoolean sending = new AtomicBoolean();

    SessionRequests(Executor executor, Sender sender) {
        this.executor = executor;
        this.sender = sender;
    }

    /**
     * Sends it.
     *
     * @param here whether the calling thread may do so
     */
    void lock(SessionRequest<OptionalLong> request, boolean here) {
        if (!here || !sendHere(request, sender::sendLocks)) {
            locks.add(request);
            sendElsewhere();
        }
    }

    /** The same for a release. */
    void unlock(SessionRequest<Boolean> request, boolean here) {
        if (!here || !sendHere(request, sender::sendUnlocks)) {
            unlocks.add(request);
            sendElsewhere();
        }
    }

    /** Sends it on this thread, without others: these may have more time. False if another thread has to. */
    private <T> boolean sendHere(SessionRequest<T> request, Consumer<List<SessionRequest<T>>> send) {
        if (!sending.compareAndSet(false, true)) {
            return false;
        }
        boolean alone = false;
        try {
            alone = sender.enterAlone(request);
            if (alone) {
                send(List.of(request), send);
            }
        } finally {
            if (alone) {
                sender.leave();
            }
            sending.set(false);
            restart();
        }
        return alone;
    }

    private void sendElsewhere() {
        if (sending.compareAndSet(false, true)) {
            hand();
        }
    }

    private void hand() {
        try {
            executor.execute(this::sendAll);
        } catch (RejectedExecutionException e) {
            fail(new SQLTransientConnectionException("the client is closed", "08003", e));
        } catch (OutOfMemoryError e) { // for want of a thread
            fail(e);
        }
    }

    private void fail(Throwable failure) {
        sending.set(false);
        fail(locks, failure);
        fail(unlocks, failure);
    }

    private static <T> void fail(Queue<SessionRequest<T>> waiting, Throwable failure) {
        for (SessionRequest<T> each = waiting.poll(); each != null; each = waiting.poll()) {
            each.failed(failure);
        }
    }

    /** A request that arrived while the last one thought that there was none. */
    private void restart() {
        if (!isEmpty()) {
            sendElsewhere();
        }
    }

    private void sendAll() {
        try {
            while (!isEmpty()) {
                sendSome();
            }
        } finally {
            sending.set(false);
            restart();
        }
    }

    private void sendSome() {
        send(take(unlocks), sender::sendUnlocks);
        if (sender.isPausing() && !locks.isEmpty()) {
            LockSupport.parkNanos(PAUSE_NANOS);
        } else {
            send(take(locks), sender::sendLocks);
        }
    }

    private static <T> List<SessionRequest<T>> take(Queue<SessionRequest<T>> waiting) {
        List<SessionRequest<T>> taken = new ArrayList<>(TOGETHER); // so that a full heap loses none of them below
        while (taken.size() < TOGETHER) {
            SessionRequest<T> next = waiting.poll();
            if (next == null) {
                break;
            }
            taken.add(next);
        }
        return taken;
    }

    private static <T> void send(List<SessionRequest<T>> taken, Consumer<List<SessionRequest<T>>> send) {
        try {
            List<SessionRequest<T>> wanted =
                    taken.stream().filter(SessionRequest::begin).toList();
            if (!wanted.isEmpty()) {
                send.accept(wanted);
            }
        } catch (Error e) {
            taken.forEach(each -> each.failed(e));
        }
    }

    private boolean isEmpty() {
        return locks.isEmpty() && unlocks.isEmpty();
    }

    /** The session. It answers each request that it is given to send, unless an Error ends it. */
    interface Sender {
        void sendLocks(List<SessionRequest<OptionalLong>> wanted);

        void sendUnlocks(List<SessionRequest<Boolean>> released);

        /** Whether no lock may be requested for a while, so that a heartbeat has its turn. */
        boolean isPausing();

        /** Begins a turn of the calling thread, if no other lock depends on the request; false if not, or in another's turn. */
        boolean enterAlone(SessionRequest<?> request);

        /** Ends that turn. */
        void leave();
    }
}
