package dev.holdfast.lock.engine;

import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.Grant;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** One attempt of a {@link PendingAcquisition}, from the decision to make it to its answer. */
final class Round {
    /** Counts the rounds of an acquisition from one. */
    final int number;

    /** When it was decided on, by the monotonic clock. */
    final long begunNanos;
    /** Set before anything is done with it. */
    @SuppressWarnings("NullAway.Init")
    AcquireRequest request;

    /** How long its answer is waited for. */
    final long timeoutNanos;
    /** The store has answered its waiter before, so that it has no more time than the waiter has left. */
    final boolean untilDeadline;
    /** A signal came while it was out: its answer may be older than the signal. Guarded by the entry's mutex. */
    boolean signalled;
    /** Handed over while it was out, before its answer was seen. Guarded likewise. */
    @Nullable Grant handedOver;
    /** In flight until a thread of the client's has begun it, if one is to; guarded likewise. */
    InFlightRequests.@Nullable Request untilBegun;

    private @Nullable RequestTime sent;

    Round(int number, long begunNanos, long timeoutNanos, boolean untilDeadline) {
        this.number = number;
        this.begunNanos = begunNanos;
        this.timeoutNanos = timeoutNanos;
        this.untilDeadline = untilDeadline;
    }

    boolean isFirst() {
        return number == 1;
    }

    /** Whether the store was asked to let the acquisition wait. */
    boolean askedToWait() {
        return request.waitMillis() > 0;
    }

    /** Whether it had to end without an answer because its waiter's time was over, which says nothing about the store. */
    boolean isCutOff(long nowNanos) {
        // A backend counts what is left in whole milliseconds.
        long roundedNanos = Math.min(2_000_000, timeoutNanos / 4);
        return untilDeadline && nowNanos - begunNanos >= timeoutNanos - roundedNanos;
    }

    /** It is about to be sent: the thread that sends it says so, and the answer comes after that. */
    void sentAt(RequestTime time) {
        sent = time;
    }

    /** When it was sent; it has been. */
    RequestTime sent() {
        return Objects.requireNonNull(sent, "sent");
    }
}
