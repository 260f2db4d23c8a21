package dev.holdfast.lock.engine;

import dev.holdfast.lock.LockUsage;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.OwnerId;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The lock while it is here: the server's grant and the hold on it, how the grant is renewed, and how it is lost. Who
 * gets the hold, and when it is released, {@link LocalHolds} decides.
 *
 * <p>Methods that begin a transition say so, or are those of {@link RenewalListener}; the others run within one.
 */
final class HeldLock implements RenewalListener {
    private final EntryContext entry;
    private final LossesByThread losses;
    private final EntryCallbacks callbacks;

    private @Nullable HeldGrant heldGrant;
    /** Null if nobody holds the grant: it was released early, and its {@code minHold} has not passed. */
    private @Nullable Hold hold;

    /**
     * Creates the state of a lock that is not here.
     *
     * @param callbacks starts the next acquisition
     */
    HeldLock(EntryContext entry, LossesByThread losses, EntryCallbacks callbacks) {
        this.entry = entry;
        this.losses = losses;
        this.callbacks = callbacks;
    }

    private EngineContext engine() {
        return entry.engine();
    }

    private StateMutex mutex() {
        return entry.mutex();
    }

    private HoldEvents events() {
        return engine().holdEvents();
    }

    @Nullable HeldGrant grant() {
        return heldGrant;
    }

    /** Who holds the lock; null if nobody does, or a released one lingers. */
    @Nullable Hold hold() {
        return hold;
    }

    /** Whether that acquisition is the one that is held. */
    boolean isOf(AcquisitionId acquisition) {
        return heldGrant != null && heldGrant.grant.acquisition().equals(acquisition);
    }

    private boolean isOf(OwnerId owner) {
        return heldGrant != null && heldGrant.grant.acquisition().owner().equals(owner);
    }

    /** The server's grant, or what is left of it after a hand-off, has a hold now. */
    void begin(HeldGrant granted, Hold begun) {
        heldGrant = granted;
        hold = begun;
    }

    /** The hold has ended, and the grant lingers. */
    void linger() {
        hold = null;
    }

    /** The grant is not held any more, and not renewed. */
    void leave(HeldGrant current) {
        heldGrant = null;
        hold = null;
        engine().renewals().remove(current);
    }

    /** Releases what nobody waits for. */
    void giveBack(HeldGrant ended) {
        if (ended.uncertain) {
            entry.abandon(ended.grant.acquisition(), ended.leaseMillis());
        } else {
            mutex().afterUnlock(engine().releaser().release(ended.grant, false, ignored -> {}));
        }
    }

    /** For {@link LockEntry#usage}. */
    Optional<LockUsage.Holder> usage() {
        Hold held = hold;
        if (held == null) {
            return Optional.empty();
        }
        long remaining = held.heldGrant.isDoubted() ? 0 : held.heldGrant.remainingNanos(engine().ticker());
        return Optional.of(new LockUsage.Holder(
                held.token,
                held.requesterName(),
                !held.isOfThread(),
                engine().wallTimeOf(held.acquiredNanos),
                Duration.ofNanos(Math.max(0, remaining))));
    }

    /** A transition: whether a thread holds the lock by {@code lock}, and may rely on it. */
    boolean isHeldBy(Thread thread) {
        return mutex().test(() -> {
            HeldGrant current = heldGrant;
            return current != null
                    && hold != null
                    && hold.isOwnedBy(thread)
                    && !current.isDoubted()
                    && current.remainingNanos(engine().ticker()) > 0;
        });
    }

    // ---- renewing

    @Override
    public boolean mayRenew(HeldGrant current) {
        return mutex().test(() -> {
            if (heldGrant == current && hold != null && hold.isOrphaned()) {
                current.abandonedBecause = LossReason.OWNER_DIED;
            }
            return heldGrant == current && current.abandonedBecause == null;
        });
    }

    /**
     * A lease that has ended is not extended, though nobody has noticed its end: others may have held the lock since, and a late
     * attempt may have given it to this owner again, with a higher token than the hold has.
     */
    @Override
    public void renewed(HeldGrant current, RequestTime sent, long leaseMillis, boolean extend) {
        mutex().run(() -> {
            if (heldGrant == current && current.remainingNanos(engine().ticker()) <= 0) {
                expire(current);
                return;
            }
            current.confirm(sent, engine().nanos(), leaseMillis, extend);
            if (heldGrant == current && hold != null) {
                events().renewed(hold);
            }
        });
    }

    /** The holder is told, and keeps the lease while it is valid. */
    @Override
    public void suspected(HeldGrant current, String detail) {
        mutex().run(() -> tellSuspect(current, detail));
    }

    /** The backend doubts a grant; false if it is not the one that is held. */
    boolean doubt(OwnerId owner, String detail) {
        HeldGrant current = heldGrant;
        if (current == null || !isOf(owner)) {
            return false;
        }
        if (!current.isDoubted()) {
            tellSuspect(current, detail);
        }
        current.doubt(engine().nanos());
        mutex().afterUnlock(engine().renewals()::soon);
        return true;
    }

    private void tellSuspect(HeldGrant current, String detail) {
        if (heldGrant == current && hold != null) {
            events().suspect(hold, detail);
        }
    }

    // ---- losing

    @Override
    public void expireIfDue(HeldGrant current) {
        mutex().run(() -> {
            if (current.remainingNanos(engine().ticker()) <= 0) {
                expire(current);
            }
        });
    }

    @Override
    public void ended(HeldGrant current, LossReason reason, String detail) {
        mutex().run(() -> end(current, reason, detail));
    }

    /** The backend says that a grant has ended; false if it is not the one that is held. */
    boolean lost(OwnerId owner, LossReason reason, String detail) {
        HeldGrant current = heldGrant;
        if (current == null || !isOf(owner)) {
            return false;
        }
        end(current, reason, detail);
        return true;
    }

    void expire(HeldGrant current) {
        long now = engine().nanos();
        end(current, current.reasonOfEnd(now), current.lastConfirmed(now));
    }

    /** Only the first end of a grant does anything, and none after its release. */
    private void end(HeldGrant current, LossReason reason, String detail) {
        if (heldGrant != current) {
            return;
        }
        Hold ended = hold;
        leave(current);
        if (ended != null) {
            events().lost(mutex(), ended, reason, detail);
            Thread owner = ended.ownerThread();
            if (owner != null) {
                losses.add(ended);
                if (current.options.interruptOnLoss() && reason != LossReason.CLIENT_CLOSED) {
                    ended.interruptedByLoss = !owner.isInterrupted(); // else that one is not ours to take back
                    owner.interrupt(); // within the transition, so that it still has its hold
                }
            }
        }
        boolean isGone = reason == LossReason.REVOKED || reason == LossReason.SESSION_LOST;
        long minHoldLeft = current.minHoldLeftNanos(engine().nanos());
        boolean toGiveBack = !isGone || current.uncertain;
        if (toGiveBack && minHoldLeft <= 0) {
            giveBack(current);
        } else if (toGiveBack && reason != LossReason.CLIENT_CLOSED) {
            engine().timer().after(minHoldLeft, () -> mutex().run(() -> giveBack(current)));
        }
        callbacks.startNext();
    }

    /** The client closes: what is held is lost and released, what lingers is left to its lease. */
    void close() {
        HeldGrant current = heldGrant;
        if (current != null && hold != null) {
            end(current, LossReason.CLIENT_CLOSED, "the client was closed");
        } else if (current != null) {
            leave(current);
        }
    }
}
