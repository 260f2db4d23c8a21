package dev.holdfast.lock.recipe;

import dev.holdfast.lock.Leadership;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LossReason;
import java.time.Duration;
import java.util.concurrent.CompletionStage;

/**
 * A leadership: a lease that stops counting before it ends. Once seen invalid it stays so: a session in doubt may recover, but a
 * leader that has seen it has stopped, and would never begin again.
 */
final class Term implements Leadership {
    private final Lease lease;
    private final Duration stopTime;
    private final Runnable seenInvalid;
    private volatile boolean ended;

    /** The store may have granted a shorter lease than was asked for: what is left of it bounds the time to stop. */
    Term(Lease lease, Duration longestStopTime, Runnable seenInvalid) {
        this.lease = lease;
        Duration half = lease.remaining().dividedBy(2);
        this.stopTime = half.compareTo(longestStopTime) < 0 ? half : longestStopTime;
        this.seenInvalid = seenInvalid;
    }

    /** From now on it does not count. */
    void end() {
        ended = true;
    }

    /** How long to wait before looking again whether the lease is in danger; zero or less if it is. */
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
            throw new IllegalStateException(
                    "election '" + lease.name() + "' (token " + token() + "): this leadership has ended; stop writing");
        }
    }

    @Override
    public CompletionStage<LossReason> lost() {
        return lease.lost();
    }

    @Override
    public String toString() {
        return "Leadership[" + lease.name() + ", token " + token() + (isValid() ? "]" : ", ended]");
    }
}
