package dev.holdfast.lock.jdbc.internal.session;

import dev.holdfast.lock.jdbc.internal.connection.BoundedExecutor;
import dev.holdfast.lock.jdbc.internal.sql.SessionKey;
import java.sql.SQLException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** What a caller requests of a session, and the answer. It is not sent if the caller has given it up before. Thread-safe. */
final class SessionRequest<T> {
    private final SessionHold acquisition;
    private final long leaseMillis;
    private final long deadlineNanos;
    private final CompletableFuture<T> answer = new CompletableFuture<>();
    private final AtomicBoolean decided = new AtomicBoolean();

    /**
     * A request for an acquisition.
     *
     * @param leaseMillis for how long the server must keep the session
     * @param deadlineNanos until when the server may answer, if no other lock depends on the session
     */
    SessionRequest(SessionHold acquisition, long leaseMillis, long deadlineNanos) {
        this.acquisition = acquisition;
        this.leaseMillis = leaseMillis;
        this.deadlineNanos = deadlineNanos;
    }

    SessionHold acquisition() {
        return acquisition;
    }

    SessionKey key() {
        return acquisition.key();
    }

    long leaseMillis() {
        return leaseMillis;
    }

    long deadlineNanos() {
        return deadlineNanos;
    }

    /** Whether it is to be sent, which {@link #giveUp} cannot prevent from then on. */
    boolean begin() {
        return decided.compareAndSet(false, true);
    }

    /** Whether it will never be sent. */
    boolean giveUp() {
        return decided.compareAndSet(false, true);
    }

    void answered(T value) {
        answer.complete(value);
    }

    void failed(Throwable failure) {
        answer.completeExceptionally(failure);
    }

    /** Calls this once with the answer or the failure, on the thread that brings it. */
    void whenAnswered(BiConsumer<@Nullable T, @Nullable Throwable> listener) {
        answer.whenComplete(listener);
    }

    /** Whether there is an answer by that time; an interrupt does not end the wait. */
    boolean await(long untilNanos) {
        return Uninterrupted.await(answer, untilNanos);
    }

    /** The answer, which is there. */
    T answer() throws SQLException {
        try {
            return answer.get();
        } catch (ExecutionException e) {
            throw BoundedExecutor.rethrown(e.getCause());
        } catch (InterruptedException e) {
            throw new IllegalStateException("an answer that is there needs no wait", e);
        }
    }
}
