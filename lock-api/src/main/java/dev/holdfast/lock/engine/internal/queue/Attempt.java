package dev.holdfast.lock.engine.internal.queue;

import dev.holdfast.lock.engine.internal.runtime.InFlightRequests;
import dev.holdfast.lock.engine.internal.runtime.RequestTime;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.Grant;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** One attempt of a {@link PendingAcquisition}, from the decision to send it to its answer. */
final class Attempt {
    /** The number of the attempt within its acquisition, from 1. */
    final int number;

    /** When it was created, on the monotonic clock. */
    final long begunNanos;
    /** Set immediately after construction. */
    @SuppressWarnings("NullAway.Init")
    AcquireRequest request;

    /** How long its answer is awaited. */
    final long timeoutNanos;
    /** Whether the store has answered its waiter before, so that the attempt has no more time than the waiter has left. */
    final boolean untilDeadline;
    /** Whether a signal arrived while it was in flight: its answer may be older than the signal. Guarded by the entry's mutex. */
    boolean signalled;
    /** The grant of a hand-over that arrived before the answer. Guarded by the entry's mutex. */
    @Nullable Grant handedOver;
    /** In flight until a client thread has begun the attempt, if one is needed. Guarded by the entry's mutex. */
    InFlightRequests.@Nullable Request untilBegun;

    private @Nullable RequestTime sent;

    Attempt(int number, long begunNanos, long timeoutNanos, boolean untilDeadline) {
        this.number = number;
        this.begunNanos = begunNanos;
        this.timeoutNanos = timeoutNanos;
        this.untilDeadline = untilDeadline;
    }

    boolean isFirst() {
        return number == 1;
    }

    /** Whether the request lets the acquisition wait on the store. */
    boolean askedToWait() {
        return request.waitMillis() > 0;
    }

    /** Whether it ended without an answer because its waiter's time was over, which shows nothing about the store. */
    boolean isCutOff(long nowNanos) {
        // Backends count the remaining time in whole milliseconds.
        long roundedNanos = Math.min(2_000_000, timeoutNanos / 4);
        return untilDeadline && nowNanos - begunNanos >= timeoutNanos - roundedNanos;
    }

    /**
     * Whether its answer, or the failure without an answer, should have come long ago: a thread may begin it as late as its time-out,
     * and then has that time, and a quarter of the request time-out.
     */
    boolean isOverdue(EngineContext engine) {
        return engine.nanos() - begunNanos >= 2 * timeoutNanos + engine.requestTimeoutNanos();
    }

    /** Records when it is sent. The sending thread calls this before the send, and so before the answer. */
    void sentAt(RequestTime time) {
        sent = time;
    }

    /** When it was sent; requires that it was. */
    RequestTime sent() {
        return Objects.requireNonNull(sent, "sent");
    }
}
