package dev.holdfast.lock.engine.internal.queue;

import dev.holdfast.lock.LockUsage;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.engine.internal.hold.HeldGrant;
import dev.holdfast.lock.engine.internal.hold.Hold;
import dev.holdfast.lock.engine.internal.hold.HoldEvents;
import dev.holdfast.lock.engine.internal.hold.HoldList;
import dev.holdfast.lock.engine.internal.hold.RenewalListener;
import dev.holdfast.lock.engine.internal.runtime.RequestTime;
import dev.holdfast.lock.engine.internal.runtime.StateMutex;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.OwnerId;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The lock while this client holds it: the server's grant, the hold on it or the holds that share it, its renewal and its loss.
 * {@link LocalHolds} decides which waiter gets a hold, and when the grant is released.
 *
 * <p>Methods that begin a transition say so, or belong to {@link RenewalListener}; the others run within one.
 */
public final class HeldLock implements RenewalListener {
    private final EntryContext entry;
    private final LossesByThread losses;
    private final EntryCallbacks callbacks;

    private @Nullable HeldGrant heldGrant;
    /** The holds that share the grant. Empty if this client does not hold the lock, or the grant lingers: the last hold was
     * released, and its {@code minHold} has not passed.
     */
    private final HoldList holds = new HoldList();

    /**
     * Creates the state of a lock that is not held.
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

    LossesByThread losses() {
        return losses;
    }

    private HoldEvents events() {
        return engine().holdEvents();
    }

    @Nullable HeldGrant grant() {
        return heldGrant;
    }

    /** Whether the lock has a hold; false while a released grant lingers. */
    boolean isHeld() {
        return !holds.isEmpty();
    }

    /** The hold, or the first of the shared holds; null if there is none. */
    public @Nullable Hold hold() {
        return holds.first();
    }

    /** The {@code lock} hold of a thread; null if it has none. */
    @Nullable Hold holdOf(@Nullable Thread thread) {
        return holds.ownedBy(thread);
    }

    /** The hold that a thread requested, even for another owner; null if there is none. */
    @Nullable Hold askedForBy(Thread thread) {
        return holds.askedForBy(thread);
    }

    /** Whether that hold has not ended. */
    boolean has(Hold hold) {
        return holds.has(hold);
    }

    /** Whether that acquisition is the held one. */
    boolean isOf(AcquisitionId acquisition) {
        return heldGrant != null && heldGrant.grant.acquisition().equals(acquisition);
    }

    private boolean isOf(OwnerId owner) {
        return heldGrant != null && heldGrant.grant.acquisition().owner().equals(owner);
    }

    /** Adds a hold to a grant: its first one, the next one after a hand-off, or a shared one. */
    void begin(HeldGrant granted, Hold begun) {
        heldGrant = granted;
        holds.add(begun);
    }

    /** Removes a hold that has ended. If it was the last one, the grant lingers. */
    void end(Hold ended) {
        holds.remove(ended);
    }

    /** Drops the grant and stops its renewal. */
    void leave(HeldGrant current) {
        heldGrant = null;
        holds.clear();
        engine().renewals().remove(current);
    }

    /**
     * Gives back a grant that nobody holds and whose {@code minHold} has passed. It may be left by a release or a hand-off that
     * had no memory.
     */
    void endLinger() {
        HeldGrant current = heldGrant;
        if (current != null && !isHeld() && current.minHoldLeftNanos(engine().nanos()) <= 0) {
            giveBack(current);
            leave(current);
            callbacks.startNext();
        }
    }

    /** Releases a grant without a caller that waits for the result; abandons it if an earlier attempt may still arrive. */
    void giveBack(HeldGrant ended) {
        if (ended.uncertain) {
            entry.abandon(ended.grant.acquisition(), ended.leaseMillis());
        } else {
            mutex().afterUnlock(engine().releaser().release(ended.grant, false, ignored -> {}));
        }
    }

    /** For {@link LockEntry#usage}. */
    List<LockUsage.Holder> usage() {
        return holds.all().stream().map(this::usage).toList();
    }

    private LockUsage.Holder usage(Hold held) {
        long remaining = held.heldGrant.isDoubted() ? 0 : held.heldGrant.remainingNanos(engine().ticker());
        return new LockUsage.Holder(
                held.token,
                held.requesterName(),
                !held.isOfThread(),
                engine().wallTimeOf(held.acquiredNanos),
                Duration.ofNanos(Math.max(0, remaining)),
                held.heldGrant.grant.demand());
    }

    // ---- renewing

    @Override
    public boolean prepareRenewal(HeldGrant current) {
        mutex().submit(() -> {
            if (heldGrant == current) {
                dropOrphans(current);
                endLinger();
            }
        });
        return current.abandonedBecause == null;
    }

    /** Ends the holds of readers whose threads have died. A grant whose owners have all died is not renewed. */
    private void dropOrphans(HeldGrant current) {
        List<Hold> all = holds.all();
        List<Hold> orphans = all.stream().filter(Hold::isOrphaned).toList();
        if (!orphans.isEmpty() && orphans.size() == all.size()) {
            current.abandonedBecause = LossReason.OWNER_DIED;
        } else {
            orphans.forEach(this::end);
            orphans.forEach(hold -> events().lost(mutex(), hold, LossReason.OWNER_DIED, "its thread has died"));
        }
    }

    /**
     * Applies a confirmed renewal. A lease that has ended is not extended, even if its end was not noticed yet: another client
     * may have held the lock since, and a late attempt may have granted it to this owner again, with a higher token than the hold
     * has.
     */
    @Override
    public void renewed(HeldGrant current, RequestTime sent, long leaseMillis, boolean extend) {
        mutex().submit(() -> {
            try {
                confirm(current, sent, leaseMillis, extend);
            } finally {
                current.mayBeRenewed();
                mutex().afterUnlock(() -> engine().renewals().scheduleNextRun(current));
            }
        });
    }

    private void confirm(HeldGrant current, RequestTime sent, long leaseMillis, boolean extend) {
        if (heldGrant == current && current.remainingNanos(engine().ticker()) <= 0) {
            expire(current);
            return;
        }
        current.confirm(sent, engine().nanos(), leaseMillis, extend);
        if (heldGrant == current && isHeld()) {
            events().renewed(Objects.requireNonNull(holds.first())); // one event, as all holds have the same token
        }
    }

    /** Reports the failed renewal; the holder keeps the lease while it is valid. */
    @Override
    public void suspected(HeldGrant current, String detail) {
        mutex().submit(() -> reportSuspect(current, detail));
    }

    /** Puts a grant in doubt at the backend's request; returns false if it is not the held one. */
    boolean doubt(OwnerId owner, String detail) {
        HeldGrant current = heldGrant;
        if (current == null || !isOf(owner)) {
            return false;
        }
        boolean first = !current.isDoubted();
        current.doubt(engine().nanos());
        mutex().afterUnlock(engine().renewals()::soon);
        if (first) {
            reportSuspect(current, detail);
        }
        return true;
    }

    private void reportSuspect(HeldGrant current, String detail) {
        if (heldGrant == current && isHeld()) {
            events().suspect(Objects.requireNonNull(holds.first()), detail);
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
    public void expireSoon(HeldGrant current) {
        mutex().submit(() -> {
            if (current.remainingNanos(engine().ticker()) <= 0) {
                expire(current);
            }
        });
    }

    @Override
    public void ended(HeldGrant current, LossReason reason, String detail) {
        mutex().submit(() -> end(current, reason, detail));
    }

    /**
     * Applies the backend's report that a grant has ended; returns false if the held grant belongs to another acquisition. An
     * acquisition may have been granted twice, if the first answer was lost: the end of the first grant is not the end of the
     * second.
     */
    boolean lost(Grant ended, LossReason reason, String detail) {
        HeldGrant current = heldGrant;
        if (current == null || !isOf(ended.acquisition().owner())) {
            return false;
        }
        if (current.grant.token() <= ended.token()) {
            end(current, reason, detail);
        }
        return true;
    }

    void expire(HeldGrant current) {
        long now = engine().nanos();
        end(current, current.reasonOfEnd(now), current.endOfTime(now, engine().ticker()));
    }

    /**
     * Ends the grant; does nothing if it has ended or was released before. Without memory for that, the grant stays, and the next
     * run of the renewals ends it.
     */
    private void end(HeldGrant current, LossReason reason, String detail) {
        if (heldGrant != current) {
            return;
        }
        holds.all().forEach(hold -> lose(hold, reason, detail));
        boolean isGone = reason == LossReason.REVOKED || reason == LossReason.SESSION_LOST;
        long minHoldLeft = current.minHoldLeftNanos(engine().nanos());
        boolean toGiveBack = !isGone || current.uncertain;
        if (toGiveBack && minHoldLeft <= 0) {
            giveBack(current);
        } else if (toGiveBack && reason != LossReason.CLIENT_CLOSED) {
            engine().timer().after(minHoldLeft, () -> mutex().submit(() -> giveBack(current)));
        }
        leave(current);
        callbacks.startNext();
    }

    private void lose(Hold hold, LossReason reason, String detail) {
        events().lost(mutex(), hold, reason, detail);
        end(hold);
        Thread owner = hold.ownerThread();
        if (owner != null) {
            losses.add(hold);
            if (hold.interruptOnLoss && reason != LossReason.CLIENT_CLOSED) {
                mutex().afterUnlock(() ->
                        engine().runtime().interrupts().execute(() -> mutex().run(() -> interrupt(hold, owner))));
            }
        }
    }

    /**
     * Interrupts the owner of a lost hold, unless it has ended the hold meanwhile. Not on a thread that renews: an interrupt runs
     * code of the thread's class, and closes the channel in which it waits. A transition, so that the hold does not end between.
     */
    private static void interrupt(Hold hold, Thread owner) {
        if (hold.hasHolds()) {
            hold.interruptedByLoss = !owner.isInterrupted(); // an earlier interrupt must not be taken back
            owner.interrupt();
        }
    }

    /**
     * Closes the lock with the client: a held grant is lost and released, unless work under it still runs; a lingering one is left
     * to its lease.
     */
    void close(boolean workRuns) {
        HeldGrant current = heldGrant;
        if (current != null && isHeld() && workRuns) {
            holds.all()
                    .forEach(hold ->
                            lose(hold, LossReason.CLIENT_CLOSED, "the client was closed while work under it ran"));
            leave(current);
        } else if (current != null && isHeld()) {
            end(current, LossReason.CLIENT_CLOSED, "the client was closed");
        } else if (current != null) {
            leave(current);
        }
    }
}
