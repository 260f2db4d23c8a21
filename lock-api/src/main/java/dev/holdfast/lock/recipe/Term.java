package dev.holdfast.lock.recipe;

import dev.holdfast.lock.Leadership;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.text.Printable;
import java.time.Duration;
import java.util.concurrent.CompletionStage;

/**
 * A leadership: it becomes invalid some time before its lease ends. Once observed to be invalid it stays invalid. A suspect
 * session may recover, but the leader has already stopped and would not start again.
 */
final class Term implements Leadership {
    private final Lease lease;
    private final Duration stopTime;
    private final Runnable seenInvalid;
    private volatile boolean ended;

    /** The store may have granted a shorter lease than requested; the stop time is at most half of what remains. */
    Term(Lease lease, Duration longestStopTime, Runnable seenInvalid) {
        this.lease = lease;
        Duration half = lease.remaining().dividedBy(2);
        this.stopTime = half.compareTo(longestStopTime) < 0 ? half : longestStopTime;
        this.seenInvalid = seenInvalid;
    }

    /** Makes this leadership invalid. */
    void end() {
        ended = true;
    }

    /** Returns how long to wait before checking the lease again; zero or less if it is in danger. */
    long nanosUntilDanger() {
        return isValid() ? lease.remaining().minus(stopTime).toNanos() : 0;
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
        return lease.lost();
    }

    @Override
    public String toString() {
        return "Leadership[" + Printable.of(lease.name()) + ", token " + token() + (isValid() ? "]" : ", ended]");
    }
}
