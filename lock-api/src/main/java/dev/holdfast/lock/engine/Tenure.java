package dev.holdfast.lock.engine;

import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.Renewal;
import dev.holdfast.lock.spi.Grant;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * One grant of the server, from its confirmation to its release or loss. States, as seen by a holder: HELD while
 * {@link #remainingNanos} is positive; SUSPECT after a failed renewal, or while {@link #doubt} stands; LOST or RELEASED
 * by its {@link Possession}.
 *
 * <p>{@link #possession}, {@link #options} and {@link #handOffs} are guarded by the contender's mutex; the rest may be read by any thread.
 */
final class Tenure {
    /** The most hand-offs that tokens leave room for: tokens are the server's times this, plus the hand-off's number. */
    static final long TOKENS_PER_GRANT = 1 << 10;

    final Contender contender;
    final Grant grant;
    final long leaseMillis;
    final boolean autoRenew;
    final long grantedNanos;
    /** An earlier attempt may still be on its way: after the release the acquisition is to be abandoned as well. */
    final boolean uncertain;

    int handOffs;

    @Nullable Possession possession;
    /** Those of the present possession. */
    LockOptions options;

    /** Set if the engine stops renewing: what the loss will then be called. */
    volatile @Nullable LossReason abandonedBecause;

    /** When the next renewal is due, and whether one is under way. */
    volatile long renewDueNanos;

    volatile boolean renewing;
    final AtomicInteger failedRenewals = new AtomicInteger();
    private final AtomicReference<Validity> validity;
    private volatile boolean doubted;
    private volatile long doubtedNanos;
    private volatile long holdEndNanos;
    private volatile boolean holdEnds;
    private volatile long confirmedNanos;

    Tenure(Contender contender, Grant grant, LockOptions options, long grantedNanos, Sent sent, boolean uncertain) {
        this.contender = contender;
        this.grant = grant;
        this.options = options;
        this.uncertain = uncertain;
        this.leaseMillis = Math.min(options.lease().toMillis(), grant.leaseMillis());
        this.autoRenew = options.renewal() == Renewal.AUTO;
        this.grantedNanos = grantedNanos;
        this.confirmedNanos = sent.nanos();
        this.validity = new AtomicReference<>(sent.validity(leaseMillis));
        this.renewDueNanos = sent.nanos() + thirdOfLeaseNanos();
    }

    String name() {
        return grant.acquisition().name();
    }

    long token() {
        return grant.token() * TOKENS_PER_GRANT + handOffs;
    }

    long thirdOfLeaseNanos() {
        return leaseMillis * 1_000_000 / 3;
    }

    /** A new possession begins: its {@code maxHold} counts from now. */
    void beginHold(LockOptions options, long nowNanos) {
        holdEnds = options.maxHold().isPresent();
        options.maxHold().ifPresent(bound -> holdEndNanos = nowNanos + Durations.nanos(bound));
    }

    /** Why no renewal is to be sent any more, if so. */
    @Nullable LossReason endOfHold(long nowNanos) {
        return holdEnds && holdEndNanos - nowNanos <= 0 ? LossReason.MAX_HOLD : null;
    }

    /** Nanoseconds for which a holder may rely on the grant; zero or less if not. */
    long remainingNanos(Ticker ticker) {
        long remaining = Objects.requireNonNull(validity.get()).remainingNanos(ticker);
        return holdEnds ? Math.min(remaining, holdEndNanos - ticker.nanos()) : remaining;
    }

    boolean isDoubted() {
        return doubted;
    }

    /** From now until the next renewal that is sent after it and confirmed, the grant does not count as valid. */
    void doubt(long nowNanos) {
        doubtedNanos = nowNanos;
        doubted = true;
        renewDueNanos = nowNanos;
    }

    /** The server confirmed a request that was sent then; a fixed lease is confirmed, but not extended. */
    void confirm(Sent sent, long confirmedLeaseMillis, boolean extend) {
        if (extend) {
            Validity confirmed = sent.validity(Math.min(leaseMillis, confirmedLeaseMillis));
            validity.updateAndGet(confirmed::or);
        }
        if (doubted && sent.nanos() - doubtedNanos >= 0) {
            doubted = false;
        }
        confirmedNanos = sent.nanos();
        failedRenewals.set(0);
        renewDueNanos = sent.nanos() + thirdOfLeaseNanos();
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
                + Durations.text(leaseMillis * 1_000_000) + ")";
    }
}
