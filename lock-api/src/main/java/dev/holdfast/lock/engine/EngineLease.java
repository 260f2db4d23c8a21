package dev.holdfast.lock.engine;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockName;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * The user's handle of a hold: it owns the hold if it was acquired, or shows a thread's {@code lock} hold. Nothing of the
 * engine refers to it, so that the loss of one that owns can be noticed by {@link Leaks}.
 */
final class EngineLease implements Lease {
    private final EngineClient client;
    private final Possession possession;
    /** Null if it only shows the hold. */
    private final Leaks.@Nullable Trace trace;

    private final AtomicBoolean closed = new AtomicBoolean();
    private volatile @Nullable CompletionStage<LossReason> lost;

    EngineLease(EngineClient client, Possession possession, boolean owning) {
        this.client = client;
        this.possession = possession;
        this.trace = owning ? client.leaks().trace(this, possession) : null;
    }

    Grant grant() {
        return possession.tenure.grant;
    }

    @Override
    public String name() {
        return possession.tenure.name();
    }

    @Override
    public long token() {
        return possession.token;
    }

    @Override
    public boolean isValid() {
        return remainingNanos() > 0;
    }

    @Override
    public Duration remaining() {
        return Duration.ofNanos(remainingNanos());
    }

    private long remainingNanos() {
        Tenure tenure = possession.tenure;
        boolean held = !closed.get() && possession.state == Possession.State.HELD && !tenure.isDoubted();
        return held ? Math.max(0, tenure.remainingNanos(client.ticker())) : 0;
    }

    @Override
    public void ensure(Duration validity) {
        Objects.requireNonNull(validity, "validity");
        Tenure tenure = possession.tenure;
        long needed = Durations.nanos(validity);
        if (needed < 0 || needed > Validity.usableNanos(tenure.leaseMillis())) {
            throw new IllegalArgumentException("lock '" + LockName.printable(name()) + "': cannot ensure " + validity
                    + ", a lease of "
                    + tenure.leaseMillis() + " ms can be relied upon for "
                    + Duration.ofNanos(Validity.usableNanos(tenure.leaseMillis())) + "; ask for a longer lease");
        }
        if (closed.get() || possession.state == Possession.State.RELEASED) {
            throw Failures.ended(name(), token());
        }
        if (remainingNanos() > 0 && remainingNanos() >= needed) {
            return;
        }
        if (possession.state == Possession.State.HELD) {
            client.await(client.renewals().renewNow(tenure).toCompletableFuture());
        }
        if (possession.state == Possession.State.LOST) {
            throw possession.lostException();
        }
        if (remainingNanos() == 0 || remainingNanos() < needed) {
            long now = client.ticker().nanos();
            throw new LeaseLostException(
                    "lock '" + name() + "' (token " + token() + "): could not be renewed for " + validity + ", "
                            + tenure.lastConfirmed(now) + "; do not begin the step",
                    tenure.reasonOfEnd(now),
                    token(),
                    null);
        }
    }

    @Override
    public CompletionStage<LossReason> lost() {
        CompletionStage<LossReason> stage = lost;
        if (stage == null) {
            stage = possession.tenure.holding.lossOf(possession).minimalCompletionStage();
            lost = stage;
        }
        return stage;
    }

    @Override
    public void close() {
        Leaks.Trace own = trace;
        if (own == null) {
            throw new UnsupportedOperationException("lock '" + LockName.printable(name()) + "' (token " + token()
                    + "): held() only shows what a thread holds by lock(); call unlock() on that thread");
        }
        if (closed.compareAndSet(false, true)) {
            own.end();
            client.end(possession);
        }
    }

    @Override
    public String toString() {
        return "Lease[" + LockName.printable(name()) + ", token " + token() + ", " + possession.state + "]";
    }
}
