package dev.holdfast.lock.engine.internal.client;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.engine.internal.hold.HeldGrant;
import dev.holdfast.lock.engine.internal.hold.Hold;
import dev.holdfast.lock.engine.internal.hold.LeakDetector;
import dev.holdfast.lock.engine.internal.hold.Release;
import dev.holdfast.lock.engine.internal.queue.EngineContext;
import dev.holdfast.lock.engine.internal.runtime.Durations;
import dev.holdfast.lock.engine.internal.runtime.Failures;
import dev.holdfast.lock.engine.internal.runtime.Validity;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockName;
import java.lang.ref.Reference;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * The user's handle of a hold: it owns the hold if it was acquired as a lease, or shows a thread's {@code lock} hold. The engine
 * keeps no reference to it, so that {@link LeakDetector} can find an owning lease that was dropped.
 */
public class EngineLease implements Lease {
    private final EngineContext engine;
    private final BlockingCalls calls;
    private final Hold hold;
    /** Null if it does not own the hold. */
    private final LeakDetector.@Nullable Trace trace;

    private final AtomicBoolean closed = new AtomicBoolean();
    /** Kept here, as an owning lease is the only one that keeps it. */
    private volatile @Nullable CompletableFuture<LossReason> loss;

    private volatile @Nullable CompletionStage<LossReason> lost;

    public EngineLease(EngineContext engine, BlockingCalls calls, Hold hold, boolean owning) {
        this.engine = engine;
        this.calls = calls;
        this.hold = hold;
        this.trace = owning ? engine.leakDetector().trace(this, hold) : null;
    }

    public Grant grant() {
        return hold.heldGrant.grant;
    }

    @Override
    public String name() {
        return hold.heldGrant.name();
    }

    @Override
    public long token() {
        return hold.token;
    }

    @Override
    public boolean isValid() {
        return remainingNanos() > 0;
    }

    @Override
    public Duration remaining() {
        return Duration.ofNanos(remainingNanos());
    }

    /** How long the lease lasts from a renewal on, as the store last confirmed it. */
    Duration length() {
        return Duration.ofNanos(Validity.usableNanos(hold.heldGrant.confirmedMillis()));
    }

    private long remainingNanos() {
        HeldGrant heldGrant = hold.heldGrant;
        boolean held = !closed.get() && hold.state == Hold.State.HELD && !heldGrant.isDoubted();
        return held ? Math.max(0, heldGrant.remainingNanos(engine.ticker())) : 0;
    }

    @Override
    public void ensure(Duration validity) {
        Objects.requireNonNull(validity, "validity");
        HeldGrant heldGrant = hold.heldGrant;
        if (hold.state == Hold.State.HELD && heldGrant.remainingNanos(engine.ticker()) <= 0) {
            heldGrant.listener.expireIfDue(heldGrant);
        }
        requireNotLost();
        if (closed.get() || hold.state == Hold.State.RELEASED) {
            throw Failures.ended(name(), token());
        }
        long needed = Durations.nanos(validity);
        requirePossible(needed, heldGrant.leaseMillis());
        if (isEnsured(needed)) {
            return;
        }
        calls.renew(heldGrant);
        requireNotLost();
        if (isEnsured(needed)) {
            return;
        }
        requirePossible(needed, heldGrant.confirmedMillis()); // the store may grant shorter leases than requested
        heldGrant.requireWithinMaxHold(needed, engine.nanos());
        throw new LockUnavailableException("lock '" + LockName.printable(name()) + "' (token " + token()
                + "): could not be renewed for "
                + validity + ", " + heldGrant.lastConfirmed(engine.nanos())
                + "; do not begin the step, check that the store is reachable");
    }

    private boolean isEnsured(long neededNanos) {
        long remaining = remainingNanos();
        return remaining > 0 && remaining >= neededNanos;
    }

    private void requireNotLost() {
        if (hold.state == Hold.State.LOST) {
            throw hold.lostException();
        }
    }

    private void requirePossible(long neededNanos, long leaseMillis) {
        long usable = Validity.usableNanos(leaseMillis);
        if (neededNanos < 0 || neededNanos > usable) {
            throw new IllegalArgumentException(
                    "lock '" + LockName.printable(name()) + "': cannot ensure " + Duration.ofNanos(neededNanos)
                            + ", a lease of " + leaseMillis + " ms can be relied upon for " + Duration.ofNanos(usable)
                            + "; use a longer lease");
        }
    }

    @Override
    public CompletionStage<LossReason> lost() {
        CompletionStage<LossReason> stage = lost;
        if (stage == null) {
            CompletableFuture<LossReason> future = hold.lock.lossOf(hold);
            stage = future.minimalCompletionStage();
            loss = future;
            lost = stage;
        }
        return stage;
    }

    /**
     * Begins to close the lease; returns the release that is in progress, or null if there is none.
     *
     * @param here whether a blocking backend releases on this thread
     */
    @Nullable Release beginClose(boolean here) {
        LeakDetector.Trace own = trace;
        if (own == null || !closed.compareAndSet(false, true)) {
            return null;
        }
        try {
            own.end();
            return hold.lock.end(hold, false, here);
        } catch (Error e) {
            hold.unreturned = true;
            throw e;
        } finally {
            Reference.reachabilityFence(this); // it must not count as dropped while it is being closed
        }
    }

    @Override
    public void close() {
        LeakDetector.Trace own = trace;
        if (own == null) {
            throw new UnsupportedOperationException("lock '" + LockName.printable(name()) + "' (token " + token()
                    + "): held() only shows a thread's lock() hold; call unlock() on that thread");
        }
        try {
            if (closed.compareAndSet(false, true)) {
                own.end();
                calls.end(hold);
            }
        } catch (Error e) { // no memory: a hold that has not ended is not renewed
            hold.unreturned = true;
            throw e;
        } finally {
            Reference.reachabilityFence(this); // it must not count as dropped while it is being closed
        }
    }

    @Override
    public String toString() {
        return "Lease[" + LockName.printable(name()) + ", token " + token() + ", " + hold.state + "]";
    }
}
