package dev.holdfast.lock.engine.internal.hold;

import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.Renewal;
import dev.holdfast.lock.engine.internal.runtime.Durations;
import dev.holdfast.lock.engine.internal.runtime.RequestTime;
import dev.holdfast.lock.engine.internal.runtime.StateMutex;
import dev.holdfast.lock.engine.internal.runtime.Ticker;
import dev.holdfast.lock.engine.internal.runtime.Validity;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockName;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import org.jspecify.annotations.Nullable;

/**
 * One grant of the server, from its confirmation to its release or loss. For a holder it is HELD while {@link #remainingNanos} is
 * positive, SUSPECT after a failed renewal or after {@link #doubt}, and LOST or RELEASED as its {@link Hold} says.
 *
 * <p>Changes within the entry's {@link StateMutex} only; any thread may read the volatile fields.
 */
public final class HeldGrant {
    /** The maximum number of hand-offs of a grant: a token is the server's token times this, plus the number of the hand-off. */
    public static final long TOKENS_PER_GRANT = 1 << 10;

    /** Instead of an object for each grant. */
    private static final AtomicIntegerFieldUpdater<HeldGrant> FAILED_RENEWALS =
            AtomicIntegerFieldUpdater.newUpdater(HeldGrant.class, "failedRenewals");

    /** How long readers may join the grant, unless a writer of this client waits before. */
    static final long ADMISSION_NANOS = 100_000_000;

    private static final long RENEW_SOON_NANOS = 100_000_000;

    public final RenewalListener listener;
    public final Grant grant;
    public final boolean autoRenew;
    final long grantedNanos;
    /** Whether an earlier attempt may still arrive: after the release the acquisition must be abandoned as well. */
    public final boolean uncertain;

    public int handOffs;
    /** When the present hold began. */
    private long begunNanos;

    /** The options of the present hold. */
    LockOptions options;

    /** Set if the engine stops renewing: the reason of the coming loss. */
    public volatile @Nullable LossReason abandonedBecause;

    /** When the next renewal is due, and whether one is in flight. */
    volatile long renewDueNanos;

    volatile boolean renewing;
    /** In a row. */
    volatile int failedRenewals;

    /** What the last failed renewal reported. */
    volatile @Nullable String lastFailure;

    private final long requestedMillis;
    private volatile long confirmedMillis;
    private volatile long confirmedNanos;
    private volatile Validity validity;
    private volatile boolean doubted;
    /** Whether the grant was handed over and has not been renewed yet. */
    private boolean hasShortLease;

    private long doubtedNanos;
    private volatile boolean holdEnds;
    private volatile long holdEndNanos;

    public HeldGrant(
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

    public String name() {
        return grant.acquisition().name();
    }

    long token() {
        return grant.token() * TOKENS_PER_GRANT + handOffs;
    }

    /** The lease that renewals request, which they can confirm at most. */
    public long leaseMillis() {
        return requestedMillis;
    }

    /** The lease that the server last confirmed. */
    public long confirmedMillis() {
        return confirmedMillis;
    }

    /** Throws if the present hold ends before the requested time. */
    public void requireWithinMaxHold(long neededNanos, long nowNanos) {
        if (holdEnds && holdEndNanos - nowNanos < neededNanos) {
            throw new IllegalArgumentException("lock '" + LockName.printable(name()) + "': cannot ensure "
                    + Duration.ofNanos(neededNanos) + ", its maxHold ends in " + Durations.text(holdEndNanos - nowNanos)
                    + "; set a longer maxHold");
        }
    }

    /** A third of the lease that the server last confirmed. */
    long thirdOfLeaseNanos() {
        return confirmedMillis * 1_000_000 / 3;
    }

    /** Schedules an early renewal of a short first lease. A lock that is released at once, as most are, needs no renewal. */
    public void renewSoon(long nowNanos, Ticker ticker) {
        hasShortLease = true;
        renewDueNanos = nowNanos + Math.min(RENEW_SOON_NANOS, remainingNanos(ticker) / 4);
    }

    /** Begins a hold: its {@code minHold} and {@code maxHold} count from now. */
    public void beginHold(LockOptions begunWith, long nowNanos) {
        options = begunWith;
        begunNanos = nowNanos;
        holdEnds = false;
        Optional<Duration> maxHold = begunWith.maxHold();
        if (maxHold.isPresent()) {
            holdEndNanos = nowNanos + Durations.nanos(maxHold.get());
            holdEnds = true;
        }
    }

    /** How long the lock must stay held even if it is released now. */
    public long minHoldLeftNanos(long nowNanos) {
        Duration minHold = options.minHold();
        return minHold.isZero() ? 0 : Durations.nanos(minHold) - (nowNanos - begunNanos);
    }

    /** The reason of a loss that is caused by the passing of time. */
    public LossReason reasonOfEnd(long nowNanos) {
        LossReason decided = abandonedBecause;
        if (holdEnds && holdEndNanos - nowNanos <= 0) {
            return LossReason.MAX_HOLD;
        }
        return decided == null ? LossReason.EXPIRED : decided;
    }

    /** Nanoseconds for which a holder may rely on the grant; zero or less if it has ended. */
    public long remainingNanos(Ticker ticker) {
        long remaining = validity.remainingNanos(ticker);
        return holdEnds ? Math.min(remaining, holdEndNanos - ticker.nanos()) : remaining;
    }

    /** Whether the grant may pass from the present holder to a waiter with these options, without a request. */
    public boolean mayBeHandedOff(LockOptions next, LockClientOptions client, Ticker ticker) {
        return !next.fair()
                && !options.fair()
                && autoRenew
                && next.renewal() == Renewal.AUTO
                && next.lease().equals(options.lease())
                && (!hasShortLease || next.minHold().isZero())
                && !doubted
                && failedRenewals == 0
                && handOffs < client.handOffLimit()
                && ticker.nanos() - grantedNanos < Durations.nanos(client.handOffTime())
                && remainingNanos(ticker) > thirdOfLeaseNanos();
    }

    /** Whether further readers may share the grant, without a request. */
    public boolean mayBeJoined(Ticker ticker) {
        return !doubted
                && failedRenewals == 0
                && abandonedBecause == null
                && ticker.nanos() - grantedNanos < ADMISSION_NANOS
                && remainingNanos(ticker) > thirdOfLeaseNanos();
    }

    public boolean isDoubted() {
        return doubted;
    }

    /** Reports that the renewal in flight has been answered. */
    public void mayBeRenewed() {
        renewing = false;
    }

    /** Puts the grant in doubt: it does not count as valid until a renewal is confirmed that was sent later. */
    public void doubt(long nowNanos) {
        doubtedNanos = nowNanos;
        doubted = true;
        renewDueNanos = nowNanos;
    }

    /** Applies the confirmation of a request that was sent at the given time; a fixed lease is confirmed but not extended. */
    public void confirm(RequestTime sent, long nowNanos, long leaseMillis, boolean extend) {
        if (extend) {
            hasShortLease = false;
            confirmedMillis = Math.min(requestedMillis, leaseMillis);
            validity = validity.or(sent.validity(confirmedMillis));
        }
        if (doubted && sent.nanos() - doubtedNanos >= 0) {
            doubted = false;
        }
        confirmedNanos = sent.nanos();
        failedRenewals = 0;
        renewDueNanos = doubted ? nowNanos : sent.nanos() + thirdOfLeaseNanos();
    }

    /** Based on the time rather than the address, so that simulated runs are reproducible. */
    @Override
    public int hashCode() {
        return Long.hashCode(grantedNanos);
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return this == other;
    }

    /** How many renewals have failed since the last one that did not. */
    public int failedRenewals() {
        return failedRenewals;
    }

    /** Records a renewal that failed; returns how many have in a row. */
    int renewalFailed(String detail) {
        lastFailure = detail;
        return FAILED_RENEWALS.incrementAndGet(this);
    }

    /** What was observed last when the grant's time has passed, for messages. */
    public String endOfTime(long nowNanos, Ticker ticker) {
        int failed = failedRenewals;
        String failure = failed == 0 ? "" : "; " + failed + " renewals failed, the last one: " + lastFailure;
        return (validity.hasEndedByWallClockOnly(ticker)
                        ? "by the wall clock, which was set forward, unless the machine was suspended; "
                        : "")
                + lastConfirmed(nowNanos)
                + failure;
    }

    /** The time of the last confirmation, for messages. */
    public String lastConfirmed(long nowNanos) {
        return "last confirmed " + Durations.text(nowNanos - confirmedNanos) + " ago (lease "
                + Durations.text(confirmedMillis * 1_000_000) + ")";
    }
}
