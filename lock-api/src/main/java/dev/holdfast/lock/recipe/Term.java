package dev.holdfast.lock.recipe;

import dev.holdfast.lock.Leadership;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.text.Printable;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;

/**
 * A leadership: it becomes invalid some time before its lease ends. Once observed to be invalid it stays invalid. A suspect
 * session may recover, but the leader has already stopped and would not start again.
 */
final class Term implements Leadership {
    private final Lease lease;
    private final Duration longestStopTime;
    private final Function<Lease, Duration> lengths;
    private final Runnable seenInvalid;
    private final CompletableFuture<LossReason> lost = new CompletableFuture<>();
    private final CompletionStage<LossReason> lostView = lost.minimalCompletionStage();
    /** The longest remaining time so far. Right after a hand-over it is short, as the lease counts from an earlier request. */
    private Duration longestRemaining;

    private boolean renewed;

    private volatile boolean ended;

    /**
     * Begins a leadership.
     *
     * @param longestStopTime the configured stop time
     * @param lengths how long a lease lasts from a renewal on, as last confirmed by the store; zero if unknown
     */
    Term(Lease lease, Duration longestStopTime, Function<Lease, Duration> lengths, Runnable seenInvalid) {
        this.lease = lease;
        this.longestStopTime = longestStopTime;
        this.lengths = lengths;
        this.longestRemaining = lease.remaining();
        this.seenInvalid = seenInvalid;
        lease.lost().thenAccept(lost::complete);
    }

    /**
     * The time to stop now: as configured, but at most half of the lease. The lease may be shorter than requested because the store
     * grants less, or because a hand-over shortened its first part; every renewal may change that.
     */
    private Duration stopTime(Duration remaining) {
        if (remaining.compareTo(longestRemaining) > 0) {
            longestRemaining = remaining;
            renewed = true;
        }
        Duration confirmed = lengths.apply(lease);
        boolean isConfirmedLength = !confirmed.isZero() && (renewed || confirmed.compareTo(longestRemaining) < 0);
        return min(longestStopTime, (isConfirmedLength ? confirmed : longestRemaining).dividedBy(2));
    }

    private static Duration min(Duration one, Duration other) {
        return one.compareTo(other) < 0 ? one : other;
    }

    /** Reports that the lease could not be kept, to the stages of {@link #lost}. */
    void lose() {
        lost.complete(LossReason.EXPIRED);
    }

    /** Makes this leadership invalid. */
    void end() {
        ended = true;
    }

    /** Returns how long to wait before checking the lease again; zero or less if it is in danger. */
    long nanosUntilDanger() {
        if (!isValid()) {
            return 0;
        }
        Duration remaining = lease.remaining();
        return remaining.minus(stopTime(remaining)).toNanos();
    }

    @Override
    public long token() {
        return lease.token();
    }

    @Override
    public boolean isValid() {
        if (!ended && !lease.isValid()) {
            ended = true;
            seenInvalid.run();
        }
        return !ended;
    }

    @Override
    public void ensure(Duration validity) {
        lease.ensure(validity);
        if (ended) {
            throw new IllegalStateException("election '" + Printable.of(lease.name()) + "' (token " + token()
                    + "): this leadership has ended; stop writing");
        }
    }

    @Override
    public CompletionStage<LossReason> lost() {
        return lostView;
    }

    @Override
    public String toString() {
        return "Leadership[" + Printable.of(lease.name()) + ", token " + token() + (isValid() ? "]" : ", ended]");
    }
}
