package dev.holdfast.lock.engine;

import dev.holdfast.lock.LockUsage;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.OwnerId;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The lock while it is here: the server's grant and the hold on it, or the holds of those who share it, how the grant is
 * renewed, and how it is lost. Who gets a hold, and when it is released, {@link LocalHolds} decides.
 *
 * <p>Methods that begin a transition say so, or are those of {@link RenewalListener}; the others run within one.
 */
final class HeldLock implements RenewalListener {
    private final EntryContext entry;
    private final LossesByThread losses;
    private final EntryCallbacks callbacks;

    private @Nullable HeldGrant heldGrant;
    /**
     * The hold, or the first of those who share the grant. Null if the lock is not here, or lingers: it was released
     * early, and its {@code minHold} has not passed.
     */
    private @Nullable Hold first;

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

    /** Whether anybody holds the lock; not so while a released one lingers. */
    boolean isHeld() {
        return first != null;
    }

    /** Who holds the lock, or began first to read; null if nobody. */
    @Nullable Hold hold() {
        return first;
    }

    /** What a thread holds by {@code lock}; null if nothing. */
    @Nullable Hold holdOf(@Nullable Thread thread) {
        for (Hold hold = first; hold != null; hold = hold.next) {
            if (hold.isOwnedBy(thread)) {
                return hold;
            }
        }
        return null;
    }

    /** What a thread has asked for, if only for others; null if nothing. */
    @Nullable Hold askedForBy(Thread thread) {
        for (Hold hold = first; hold != null; hold = hold.next) {
            if (hold.isAskedForBy(thread)) {
                return hold;
            }
        }
        return null;
    }

    /** Whether that hold has not ended. */
    boolean has(Hold hold) {
        for (Hold each = first; each != null; each = each.next) {
            if (each == hold) {
                return true;
            }
        }
        return false;
    }

    /** Whether that acquisition is the one that is held. */
    boolean isOf(AcquisitionId acquisition) {
        return heldGrant != null && heldGrant.grant.acquisition().equals(acquisition);
    }

    private boolean isOf(OwnerId owner) {
        return heldGrant != null && heldGrant.grant.acquisition().owner().equals(owner);
    }

    /** The server's grant, or what is left of it after a hand-off, has a hold now, or one more. */
    void begin(HeldGrant granted, Hold begun) {
        heldGrant = granted;
        Hold last = first;
        if (last == null) {
            first = begun;
            return;
        }
        while (last.next != null) {
            last = last.next;
        }
        last.next = begun;
    }

    /** The hold has ended. If it was the last one, the grant lingers. */
    void end(Hold ended) {
        if (first == ended) {
            first = ended.next;
        } else {
            for (Hold hold = first; hold != null; hold = hold.next) {
                if (hold.next == ended) {
                    hold.next = ended.next;
                    break;
                }
            }
        }
        ended.next = null; // who keeps an ended lease does not keep those that came after it
    }

    /** The first one, and those who share the grant with it. */
    private List<Hold> all() {
        List<Hold> all = new ArrayList<>(1);
        for (Hold hold = first; hold != null; hold = hold.next) {
            all.add(hold);
        }
        return all;
    }

    /** The grant is not held any more, and not renewed. */
    void leave(HeldGrant current) {
        heldGrant = null;
        first = null;
        engine().renewals().remove(current);
    }

    /** Releases what nobody waits for; abandons it, if an earlier attempt of it may still be on its way. */
    void giveBack(HeldGrant ended) {
        if (ended.uncertain) {
            entry.abandon(ended.grant.acquisition(), ended.leaseMillis());
        } else {
            mutex().afterUnlock(engine().releaser().release(ended.grant, false, ignored -> {}));
        }
    }

    /** For {@link LockEntry#usage}. */
    List<LockUsage.Holder> usage() {
        return all().stream().map(this::usage).toList();
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

    /**
     * A transition: whether a thread holds the lock by {@code lock}, and may rely on it.
     *
     * @param reading whether to read, under a lock that it has alone
     */
    boolean isHeldBy(Thread thread, boolean reading) {
        return mutex().test(() -> {
            HeldGrant current = heldGrant;
            Hold mine = holdOf(thread);
            return current != null
                    && mine != null
                    && mine.hasHolds(reading)
                    && !current.isDoubted()
                    && current.remainingNanos(engine().ticker()) > 0;
        });
    }

    // ---- renewing

    @Override
    public boolean prepareRenewal(HeldGrant current) {
        return mutex().test(() -> {
            if (heldGrant == current) {
                dropOrphans(current);
            }
            return heldGrant == current && current.abandonedBecause == null;
        });
    }

    /** Readers whose threads have died do not keep the others' grant, and a grant that only the dead have is not renewed. */
    private void dropOrphans(HeldGrant current) {
        List<Hold> all = all();
        List<Hold> orphans = all.stream().filter(Hold::isOrphaned).toList();
        if (!orphans.isEmpty() && orphans.size() == all.size()) {
            current.abandonedBecause = LossReason.OWNER_DIED;
        } else {
            orphans.forEach(this::end);
            orphans.forEach(hold -> events().lost(mutex(), hold, LossReason.OWNER_DIED, "its thread has died"));
        }
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
            if (heldGrant == current && isHeld()) {
                events().renewed(Objects.requireNonNull(first)); // once a grant, as all of them have its token
            }
        });
    }

    /** The holder is told, and keeps the lease while it is valid. */
    @Override
    public void suspected(HeldGrant current, String detail) {
        mutex().run(() -> reportSuspect(current, detail));
    }

    /** The backend doubts a grant; false if it is not the one that is held. */
    boolean doubt(OwnerId owner, String detail) {
        HeldGrant current = heldGrant;
        if (current == null || !isOf(owner)) {
            return false;
        }
        if (!current.isDoubted()) {
            reportSuspect(current, detail);
        }
        current.doubt(engine().nanos());
        mutex().afterUnlock(engine().renewals()::soon);
        return true;
    }

    private void reportSuspect(HeldGrant current, String detail) {
        if (heldGrant == current && isHeld()) {
            events().suspect(Objects.requireNonNull(first), detail);
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

    /**
     * The backend says that a grant has ended; false if what is held is another acquisition's. An acquisition may have been granted
     * twice, if nobody saw the first grant: its end is not that of the second.
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
        end(current, current.reasonOfEnd(now), current.lastConfirmed(now));
    }

    /** Only the first end of a grant does anything, and none after its release. */
    private void end(HeldGrant current, LossReason reason, String detail) {
        if (heldGrant != current) {
            return;
        }
        List<Hold> ended = all();
        leave(current);
        ended.forEach(hold -> lose(hold, reason, detail));
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

    private void lose(Hold hold, LossReason reason, String detail) {
        events().lost(mutex(), hold, reason, detail);
        Thread owner = hold.ownerThread();
        if (owner != null) {
            losses.add(hold);
            if (hold.interruptOnLoss && reason != LossReason.CLIENT_CLOSED) {
                hold.interruptedByLoss = !owner.isInterrupted(); // else that one is not ours to take back
                owner.interrupt(); // within the transition, so that it still has its hold
            }
        }
    }

    /** The client closes: what is held is lost and released, what lingers is left to its lease. */
    void close() {
        HeldGrant current = heldGrant;
        if (current != null && isHeld()) {
            end(current, LossReason.CLIENT_CLOSED, "the client was closed");
        } else if (current != null) {
            leave(current);
        }
    }
}
