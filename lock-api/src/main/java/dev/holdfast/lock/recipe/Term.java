package dev.holdfast.lock.recipe;

import dev.holdfast.lock.Leadership;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LossReason;
import java.time.Duration;
import java.util.concurrent.CompletionStage;

/** A leadership: a lease that stops counting before it ends. */
final class Term implements Leadership {
    private final Lease lease;
    private volatile boolean ended;

    Term(Lease lease) {
        this.lease = lease;
    }

    /** From now on it does not count. */
    void end() {
        ended = true;
    }

    /** How long to wait before looking again whether the lease is in danger; zero or less if it is. */
    long nanosUntilDanger(Duration stopTime) {
        return lease.remaining().minus(stopTime).toNanos();
    }

    @Override
    public long token() {
        return lease.token();
    }

    @Override
    public boolean isValid() {
        return !ended && lease.isValid();
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
