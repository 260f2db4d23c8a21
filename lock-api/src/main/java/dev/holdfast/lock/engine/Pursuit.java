package dev.holdfast.lock.engine;

import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.spi.Acquisition;
import dev.holdfast.lock.spi.BackendInfo;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.Ticket;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * What is known of one acquisition under way: whether an attempt is out, the place in the store's queue, how often it
 * was busy or failed. It serves whichever local waiter is first. Plain data, guarded by the contender's mutex.
 */
final class Pursuit {
    private static final long FIRST_RETRY_NANOS = 20_000_000;
    private static final long LAST_RETRY_NANOS = 1_000_000_000;

    final Acquisition acquisition;
    final long leaseMillis;
    final boolean fair;

    /** Counts attempts, so that a late answer is told from the latest. */
    int round;

    boolean inFlight;
    /** A signal came while an attempt was out: its answer may be older than the signal. */
    boolean signalledInFlight;
    /** The attempt that is out asked to be queued. */
    boolean askedToWait;
    /** The store has answered at least once. */
    boolean answered;
    /** The store has given a place in its queue at least once; later answers need not repeat it. */
    boolean queued;
    /** An attempt failed, so the acquisition may be on the server without our knowledge. */
    boolean uncertain;
    /** The backend reported the grant's end before its answer was seen. */
    boolean lostEarly;

    @Nullable Ticket ticket;

    @Nullable Ticket listeningTo;

    Subscription signal = Subscription.NONE;
    Subscription timer = Subscription.NONE;

    @Nullable LockException lastFailure;

    long failingSinceNanos;
    private int failures;
    private int polls;

    Pursuit(String name, LockOptions options) {
        this.acquisition = new Acquisition(name, OwnerId.random());
        this.leaseMillis = options.lease().toMillis();
        this.fair = options.fair();
    }

    /** Whether a grant to this acquisition is what a waiter with those options wants. */
    boolean serves(LockOptions options) {
        return leaseMillis == options.lease().toMillis() && fair == options.fair();
    }

    /** Whether the server may know of this acquisition. */
    boolean mayBeOnServer() {
        return queued || uncertain || inFlight;
    }

    void noteBusy(@Nullable Ticket place) {
        ticket = place;
        queued |= place != null;
        answered = true;
        lastFailure = null;
        failures = 0;
    }

    void noteFailure(LockException failure, long nowNanos) {
        uncertain = true;
        lastFailure = failure;
        if (failures++ == 0) {
            failingSinceNanos = nowNanos;
        }
    }

    long retryDelayNanos(RandomGenerator random) {
        long delay = Math.min(LAST_RETRY_NANOS, FIRST_RETRY_NANOS << Math.min(failures - 1, 10));
        return delay / 2 + random.nextLong(delay / 2);
    }

    /** Doubling with jitter between the backend's bounds, but no longer than the holder's lease still runs. */
    long pollDelayNanos(BackendInfo info, long holderRemainingMillis, RandomGenerator random) {
        long most = info.pollMaxMillis() * 1_000_000;
        long delay = Math.min(most, info.pollMinMillis() * 1_000_000 << Math.min(polls++, 20));
        long jittered = delay - random.nextLong(delay / 4 + 1);
        if (holderRemainingMillis < 0) {
            return jittered;
        }
        long afterLease = holderRemainingMillis * 1_000_000 + 1_000_000 + random.nextLong(5_000_000);
        return Math.min(jittered, afterLease);
    }

    /** Something happened: poll eagerly again. */
    void resetBackOff() {
        polls = 0;
    }

    void stopListening() {
        signal.close();
        timer.close();
        signal = Subscription.NONE;
        timer = Subscription.NONE;
        listeningTo = null;
    }
}
