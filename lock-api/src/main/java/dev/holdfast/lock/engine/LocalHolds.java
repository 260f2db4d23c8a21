package dev.holdfast.lock.engine;

import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.ReleaseResult;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Who holds a {@link HeldLock}: to whom it is given and handed off, and when it is released.
 *
 * <p><b>Hand-off</b> is lock cohorting (Dice, Marathe, Shavit: Lock Cohorting, PPoPP 2012): the local queue is the local
 * lock, the server's grant the global one, which is kept for a bounded number of hand-offs and a bounded time. Unlike
 * there each hand-off mints a token, so that fencing tells apart two threads of one process.
 *
 * <p>Methods that begin a transition say so; the others run within one.
 */
final class LocalHolds implements Hold.Lock {
    private static final Logger LOG = LoggerFactory.getLogger(LocalHolds.class);

    private final EntryContext entry;
    private final HeldLock heldLock;
    private final LossesByThread losses;
    private final Admission admission;
    private final EntryCallbacks callbacks;
    /**
     * What is being released. The next acquisition is begun when the server has answered, or did not in time; on an
     * ordered store as soon as the release has been sent.
     */
    private @Nullable Release releasing;

    /**
     * Creates it without holds.
     *
     * @param callbacks starts the next acquisition
     */
    LocalHolds(
            EntryContext entry,
            HeldLock heldLock,
            LossesByThread losses,
            Admission admission,
            EntryCallbacks callbacks) {
        this.entry = entry;
        this.heldLock = heldLock;
        this.losses = losses;
        this.admission = admission;
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

    boolean isBusy() {
        return heldLock.grant() != null || releasing != null;
    }

    /** Whether the next acquisition may be begun. */
    boolean isFree() {
        return heldLock.grant() == null && (releasing == null || releasing.sent);
    }

    /** Whether that acquisition is the one that is held or being released. */
    boolean isOf(AcquisitionId acquisition) {
        return releasing != null && releasing.acquisition().equals(acquisition) || heldLock.isOf(acquisition);
    }

    // ---- acquiring

    /**
     * Decides a waiter whose thread holds the lock already, or held it and has not noticed its loss. One that asks for a
     * lease never re-enters.
     *
     * @param reading whether it asks to read where its thread has the lock alone
     * @throws IllegalStateException if it would wait for its own {@code lock} hold to end: as it asks for a lease, or to write
     *     where it only reads by now
     */
    boolean reenter(Waiter waiter, boolean reading) {
        Hold mine = heldLock.holdOf(waiter.thread());
        if (mine != null) {
            if (mine.heldGrant.remainingNanos(engine().ticker()) > 0) {
                if (waiter.asLease || !reading && !mine.hasHolds(false)) {
                    refuseToWaitForItself(waiter, mine);
                    return false;
                }
                mine.addHold(reading);
                waiter.hold = mine;
                waiter.reading = reading;
                entry.queue().decide(waiter, Waiter.State.GRANTED);
                return true;
            }
            heldLock.expire(mine.heldGrant);
        }
        Hold unnoticed = waiter.asLease ? null : losses.find(waiter.thread());
        if (unnoticed != null) {
            entry.queue().fail(waiter, unnoticed.lostException());
        }
        return unnoticed != null;
    }

    private void refuseToWaitForItself(Waiter waiter, Hold own) {
        if (!waiter.triesOnce() && !admission.isShared()) {
            throw own.hasHolds(false)
                    ? Failures.waitsForItself(entry.name(), own.token, waiter.requester)
                    : Failures.readsAlready(entry.name(), own.token, waiter.requester);
        }
    }

    /** The server's grant has come. */
    void begin(HeldGrant granted, Waiter waiter) {
        admission.granted();
        give(granted, waiter, false);
        Waiter next = entry.queue().head();
        while (next != null && join(next)) { // readers, who have come with the same terms
            next = entry.queue().head();
        }
        engine().renewals().add(granted);
    }

    /** Lets a reader share the grant, if there is one here that may be shared. */
    boolean join(Waiter waiter) {
        HeldGrant current = heldLock.grant();
        if (!admission.isShared() || current == null) {
            return false;
        }
        give(current, waiter, true);
        return true;
    }

    private void give(HeldGrant current, Waiter waiter, boolean handedOff) {
        entry.queue().remove(waiter);
        long now = engine().nanos();
        Hold hold = new Hold(current, this, now, waiter.requester, !waiter.asLease, waiter.thread() == null);
        hold.interruptOnLoss = waiter.options.interruptOnLoss();
        current.beginHold(waiter.options, now);
        heldLock.begin(current, hold);
        waiter.hold = hold;
        entry.queue().decide(waiter, Waiter.State.GRANTED);
        events().acquired(hold, now - waiter.sinceNanos, handedOff);
    }

    // ---- ending

    /**
     * A transition: ends a {@code lock} hold of the calling thread.
     *
     * @param reading whether it is one to read, under a lock that the thread has alone
     * @return the release, or null if there are more holds or the lock was handed off
     * @throws IllegalMonitorStateException if the thread has none
     * @throws LeaseLostException if the lease was lost
     */
    @Nullable Release unlock(Thread thread, boolean reading) {
        return mutex().<@Nullable Release>get(() -> {
            Hold mine = holdOf(thread);
            if (mine == null || !mine.hasHolds(reading)) {
                throw Failures.notHeld(entry.name(), thread);
            }
            return endHold(mine, reading, true);
        });
    }

    /** A transition: whether a thread that is interrupted and ends its last hold was interrupted to be told of a loss; once. */
    boolean takeInterruptOfLoss(Thread thread) {
        return mutex().test(() -> {
            Hold unnoticed = losses.find(thread);
            return unnoticed != null && unnoticed.isLastHold() && unnoticed.takeInterruptOfLoss();
        });
    }

    @Override
    public boolean takeInterruptOfLoss(Hold hold) {
        return mutex().test(() -> hold.isLastHold() && hold.takeInterruptOfLoss());
    }

    /** What a thread holds by {@code lock}, or held when it was lost; null if nothing. */
    private @Nullable Hold holdOf(Thread thread) {
        Hold mine = heldLock.holdOf(thread);
        return mine != null ? mine : losses.find(thread);
    }

    /**
     * A transition: what a thread holds by {@code lock}, or held when it was lost; null if nothing.
     *
     * @param reading whether to read, under a lock that it has alone
     */
    @Nullable Hold heldBy(Thread thread, boolean reading) {
        return mutex().<@Nullable Hold>get(() -> {
            Hold mine = holdOf(thread);
            return mine != null && mine.hasHolds(reading) ? mine : null;
        });
    }

    @Override
    public @Nullable Release end(Hold hold, boolean reading) {
        return mutex().<@Nullable Release>get(() -> endHold(hold, reading, true));
    }

    @Override
    public void endDropped(Hold hold) {
        mutex().run(() -> {
            try {
                endHold(hold, false, false);
            } catch (LeaseLostException alreadyReported) {
                LOG.debug("{}", alreadyReported.getMessage());
            }
        });
    }

    @Override
    public CompletableFuture<LossReason> lossOf(Hold hold) {
        return mutex().get(hold::lost);
    }

    /**
     * Ends one hold. With the last one the grant lingers, is handed off or is released.
     *
     * @param here whether a blocking backend releases on this thread, or on one of the client's
     * @return the release, or null if there is none
     */
    private @Nullable Release endHold(Hold hold, boolean reading, boolean here) {
        HeldGrant current = hold.heldGrant;
        if (hold.state == Hold.State.HELD && current.remainingNanos(engine().ticker()) <= 0) {
            heldLock.expire(current);
        }
        hold.endHold(reading);
        if (hold.state == Hold.State.LOST) {
            if (!hold.hasHolds()) {
                losses.remove(hold);
                if (hold.takeInterruptOfLoss()) {
                    Thread.interrupted(); // it came while this thread was about to end the hold
                }
            }
            throw hold.lostException();
        }
        if (hold.state != Hold.State.HELD || hold.hasHolds()) {
            return null;
        }
        hold.state = Hold.State.RELEASED;
        long now = engine().nanos();
        heldLock.end(hold);
        if (heldLock.isHeld()) { // by other readers
            events().released(hold, now);
            return null;
        }
        Waiter next = entry.queue().head();
        if (current.minHoldLeftNanos(now) > 0) {
            events().released(hold, now);
            engine().timer().after(current.minHoldLeftNanos(now), () -> endLinger(current));
            return null;
        }
        if (next != null
                && !admission.isShared()
                && current.mayBeHandedOff(next.options, engine().options(), engine().ticker())) {
            events().released(hold, now);
            current.handOffs++;
            give(current, next, true);
            return null;
        }
        return release(current, hold, here);
    }

    /** A transition: the lock was released early, and its {@code minHold} is over now. */
    private void endLinger(HeldGrant lingering) {
        mutex().run(() -> {
            if (heldLock.grant() == lingering) {
                heldLock.leave(lingering);
                heldLock.giveBack(lingering);
                callbacks.startNext();
            }
        });
    }

    // ---- releasing

    private Release release(HeldGrant current, Hold hold, boolean here) {
        heldLock.leave(current);
        Release release = new Release(hold, engine().nanos());
        releasing = release;
        mutex().afterUnlock(engine().releaser().release(current.grant, here, result -> {
            mutex().run(() -> released(release, result));
            release.outcome.complete(result);
        }));
        if (engine().info().ordered()) {
            mutex().afterUnlock(() -> sent(release)); // effects run in order: the release has been sent by then
        }
        return release;
    }

    /**
     * Why a waiter whose deadline has passed could not be served while a release is out: null, that is busy, unless the
     * store has been silent for long, and for as long as it waited.
     */
    @Nullable LockException unavailability(Waiter waiter) {
        long now = engine().nanos();
        long waitedNanos = Math.min(now - waiter.sinceNanos, engine().requestTimeoutNanos());
        long silentNanos = Math.max(waitedNanos, engine().requestTimeoutNanos() / 4);
        long openNanos = releasing == null ? 0 : now - releasing.begunNanos;
        boolean leftOpen = releasing != null && openNanos >= silentNanos;
        return entry.availability().unavailability(now - silentNanos, null, leftOpen, openNanos);
    }

    /** A transition: a release has been sent; on an ordered store the next attempt may go right behind it. */
    private void sent(Release release) {
        mutex().run(() -> {
            if (releasing == release) {
                release.sent = true;
                callbacks.startNext();
            }
        });
    }

    private void released(Release release, @Nullable ReleaseResult result) {
        if (releasing == release) { // else a later one is being released by now
            releasing = null;
        }
        Hold hold = release.hold;
        if (result == ReleaseResult.NOT_HELD) {
            events().lost(mutex(), hold, LossReason.REVOKED, "the store did not have it any more at release");
        } else {
            events().released(hold, engine().nanos());
        }
        if (result != null) {
            entry.availability().noteAnswer();
        }
        if (hold.heldGrant.uncertain) {
            entry.abandon(release.acquisition(), hold.heldGrant.leaseMillis());
        }
        callbacks.startNext();
    }
}
