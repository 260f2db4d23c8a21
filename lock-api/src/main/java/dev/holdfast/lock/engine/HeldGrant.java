package dev.holdfast.lock.engine;

import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.Renewal;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockName;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * One grant of the server, from its confirmation to its release or loss. States, as seen by a holder: HELD while
 * {@link #remainingNanos} is positive; SUSPECT after a failed renewal, or while {@link #doubt} stands; LOST or RELEASED
 * by its {@link Hold}.
 *
 * <p>Changes within the entry's {@link StateMutex} only; the volatile fields may be read by any thread.
 */
final class HeldGrant {
    /** The most hand-offs that tokens leave room for: tokens are the server's times this, plus the hand-off's number. */
    static final long TOKENS_PER_GRANT = 1 << 10;

    /** For how long readers may join it, unless a writer of this client waits before. */
    static final long ADMISSION_NANOS = 100_000_000;

    private static final long RENEW_SOON_NANOS = 100_000_000;

    final RenewalListener listener;
    final Grant grant;
    final boolean autoRenew;
    final long grantedNanos;
    /** An earlier attempt may still be on its way: after the release the acquisition is to be abandoned as well. */
    final boolean uncertain;

    int handOffs;
    /** When the present hold began. */
    private long begunNanos;

    /** Those of the present hold. */
    LockOptions options;

    /** Set if the engine stops renewing: what the loss will then be called. */
    volatile @Nullable LossReason abandonedBecause;

    /** When the next renewal is due, and whether one is under way. */
    volatile long renewDueNanos;

    volatile boolean renewing;
    final AtomicInteger failedRenewals = new AtomicInteger();
    private final long requestedMillis;
    private volatile long confirmedMillis;
    private volatile long confirmedNanos;
    private volatile Validity validity;
    private volatile boolean doubted;
    /** Handed over, and not renewed yet. */
    private boolean hasShortLease;

    private long doubtedNanos;
    private volatile boolean holdEnds;
    private volatile long holdEndNanos;

    HeldGrant(
            RenewalListener listener,
            Grant grant,
            LockOptions options,
            long grantedNanos,
            RequestTime sent,
            boolean uncertain) {
        this.listener = listener;
        this.grant = grant;
        this.options = options;
        this.uncertain = uncertain;
        this.autoRenew = options.renewal() == Renewal.AUTO;
        this.grantedNanos = grantedNanos;
        this.requestedMillis = options.lease().toMillis();
        this.confirmedMillis = Math.min(requestedMillis, grant.leaseMillis());
        this.confirmedNanos = sent.nanos();
        this.validity = sent.validity(confirmedMillis);
        this.renewDueNanos = sent.nanos() + thirdOfLeaseNanos();
    }

    String name() {
        return grant.acquisition().name();
    }

    long token() {
        return grant.token() * TOKENS_PER_GRANT + handOffs;
    }

    /** The longest lease that a renewal can confirm. */
    long leaseMillis() {
        return requestedMillis;
    }

    /** The lease that the server last confirmed. */
    long confirmedMillis() {
        return confirmedMillis;
    }

    /** Refuses to promise more than the present hold may last. */
    void requireWithinMaxHold(long neededNanos, long nowNanos) {
        if (holdEnds && holdEndNanos - nowNanos < neededNanos) {
            throw new IllegalArgumentException("lock '" + LockName.printable(name()) + "': cannot ensure "
                    + Duration.ofNanos(neededNanos) + ", its maxHold ends in " + Durations.text(holdEndNanos - nowNanos)
                    + "; set a longer maxHold");
        }
    }

    /** A third of what the server last confirmed. */
    long thirdOfLeaseNanos() {
        return confirmedMillis * 1_000_000 / 3;
    }

    /** Its first lease is short. A lock that is released at once, as most are, is spared the renewal. */
    void renewSoon(long nowNanos, Ticker ticker) {
        hasShortLease = true;
        renewDueNanos = nowNanos + Math.min(RENEW_SOON_NANOS, remainingNanos(ticker) / 4);
    }

    /** A new hold begins: its {@code minHold} and {@code maxHold} count from now. */
    void beginHold(LockOptions begunWith, long nowNanos) {
        options = begunWith;
        begunNanos = nowNanos;
        holdEnds = false;
        Optional<Duration> maxHold = begunWith.maxHold();
        if (maxHold.isPresent()) {
            holdEndNanos = nowNanos + Durations.nanos(maxHold.get());
            holdEnds = true;
        }
    }

    /** How long the lock is to stay taken still, even if it is released. */
    long minHoldLeftNanos(long nowNanos) {
        Duration minHold = options.minHold();
        return minHold.isZero() ? 0 : Durations.nanos(minHold) - (nowNanos - begunNanos);
    }

    /** By what name a loss goes that comes because time has passed. */
    LossReason reasonOfEnd(long nowNanos) {
        LossReason decided = abandonedBecause;
        if (holdEnds && holdEndNanos - nowNanos <= 0) {
            return LossReason.MAX_HOLD;
        }
        return decided == null ? LossReason.EXPIRED : decided;
    }

    /** Nanoseconds for which a holder may rely on the grant; zero or less if not. */
    long remainingNanos(Ticker ticker) {
        long remaining = validity.remainingNanos(ticker);
        return holdEnds ? Math.min(remaining, holdEndNanos - ticker.nanos()) : remaining;
    }

    /** Whether a waiter with those options may get it from the present holder, without a request. */
    boolean mayBeHandedOff(LockOptions next, LockClientOptions client, Ticker ticker) {
        return !next.fair()
                && !options.fair()
                && autoRenew
                && next.renewal() == Renewal.AUTO
                && next.lease().equals(options.lease())
                && (!hasShortLease || next.minHold().isZero())
                && !doubted
                && failedRenewals.get() == 0
                && handOffs < client.handOffLimit()
                && ticker.nanos() - grantedNanos < Durations.nanos(client.handOffTime())
                && remainingNanos(ticker) > thirdOfLeaseNanos();
    }

    /** Whether further readers may share it, without a request. */
    boolean mayBeJoined(Ticker ticker) {
        return !doubted
                && failedRenewals.get() == 0
                && abandonedBecause == null
                && ticker.nanos() - grantedNanos < ADMISSION_NANOS
                && remainingNanos(ticker) > thirdOfLeaseNanos();
    }

    boolean isDoubted() {
        return doubted;
    }

    /** From now until a renewal that was sent later is confirmed, the grant does not count as valid. */
    void doubt(long nowNanos) {
        doubtedNanos = nowNanos;
        doubted = true;
        renewDueNanos = nowNanos;
    }

    /** The server confirmed a request that was sent then; a fixed lease is confirmed, but not extended. */
    void confirm(RequestTime sent, long nowNanos, long leaseMillis, boolean extend) {
        if (extend) {
            hasShortLease = false;
            confirmedMillis = Math.min(requestedMillis, leaseMillis);
            validity = validity.or(sent.validity(confirmedMillis));
        }
        if (doubted && sent.nanos() - doubtedNanos >= 0) {
            doubted = false;
        }
        confirmedNanos = sent.nanos();
        failedRenewals.set(0);
        renewDueNanos = doubted ? nowNanos : sent.nanos() + thirdOfLeaseNanos();
    }

    /** By the clock rather than by address, so that a simulated run is the same each time. */
    @Override
    public int hashCode() {
        return Long.hashCode(grantedNanos);
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return this == other;
    }

    /** For messages. */
    String lastConfirmed(long nowNanos) {
        return "last confirmed " + Durations.text(nowNanos - confirmedNanos) + " ago (lease "
                + Durations.text(confirmedMillis * 1_000_000) + ")";
    }
}
