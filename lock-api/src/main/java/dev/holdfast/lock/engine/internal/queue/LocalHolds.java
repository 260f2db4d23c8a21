package dev.holdfast.lock.engine.internal.queue;

import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.engine.internal.hold.HeldGrant;
import dev.holdfast.lock.engine.internal.hold.Hold;
import dev.holdfast.lock.engine.internal.hold.HoldEvents;
import dev.holdfast.lock.engine.internal.hold.Release;
import dev.holdfast.lock.engine.internal.runtime.Failures;
import dev.holdfast.lock.engine.internal.runtime.StateMutex;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.support.BackgroundLog;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The holds of a {@link HeldLock}: grants them, hands the lock off, and releases it.
 *
 * <p><b>Hand-off</b> is lock cohorting (Dice, Marathe, Shavit: Lock Cohorting, PPoPP 2012): the local queue is the local lock, and
 * the server's grant is the global one, which is kept for a bounded number of hand-offs and a bounded time. Unlike there, each
 * hand-off creates a token, so that fencing distinguishes two threads of one process.
 *
 * <p>Methods that begin a transition say so; the others run within one.
 */
public final class LocalHolds implements Hold.Lock {
    private static final BackgroundLog LOG = BackgroundLog.of(LocalHolds.class);

    private final EntryContext entry;
    private final HeldLock heldLock;
    private final Admission admission;
    private final EntryCallbacks callbacks;
    /**
     * The release in progress. The next acquisition begins when the server has answered or the request has timed out; on an
     * ordered store, as soon as the release has been sent.
     */
    private @Nullable Release releasing;

    /**
     * Creates it without holds.
     *
     * @param callbacks starts the next acquisition
     */
    LocalHolds(EntryContext entry, HeldLock heldLock, Admission admission, EntryCallbacks callbacks) {
        this.entry = entry;
        this.heldLock = heldLock;
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
        return heldLock.grant() != null || isReleasing();
    }

    /** Whether a release is in progress. Its report comes within the request time-out, unless there was no memory for it. */
    private boolean isReleasing() {
        return releasing != null && engine().nanos() - releasing.begunNanos < 2 * engine().requestTimeoutNanos();
    }

    /** Whether the next acquisition may begin. */
    boolean isFree() {
        return heldLock.grant() == null && (!isReleasing() || releasing != null && releasing.sent);
    }

    /** Whether that acquisition is held or being released. */
    boolean isOf(AcquisitionId acquisition) {
        return releasing != null && releasing.acquisition().equals(acquisition) || heldLock.isOf(acquisition);
    }

    // ---- acquiring

    /**
     * Decides a waiter whose thread already holds the lock, or held it and has not noticed its loss. A waiter for a lease never
     * re-enters.
     *
     * @param reading whether the waiter requests a read hold under its thread's exclusive lock
     * @throws IllegalStateException if the waiter would wait for its own {@code lock} hold: it requests a lease, or the write
     *     lock while its thread only reads
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
        Hold unnoticed = waiter.asLease ? null : heldLock.losses().find(waiter.thread());
        if (unnoticed != null) {
            entry.queue().fail(waiter, unnoticed.notEndedException());
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

    /** Gives a new grant to its waiter. Without memory for that, nothing has changed. */
    void begin(HeldGrant granted, Waiter waiter) {
        admission.granted();
        granted.beginHold(waiter.options, engine().nanos()); // it may end before the first renewal
        engine().renewals().add(granted);
        try {
            give(granted, waiter, false);
        } finally {
            if (heldLock.grant() != granted) {
                engine().renewals().remove(granted);
            }
        }
    }

    /** Adds the readers that wait with the same options. */
    void joinAll() {
        Waiter next = entry.queue().head();
        while (next != null && join(next)) {
            next = entry.queue().head();
        }
    }

    /** Adds a reader to the held grant, if there is one that may be shared. */
    boolean join(Waiter waiter) {
        HeldGrant current = heldLock.grant();
        if (!admission.isShared() || current == null) {
            return false;
        }
        give(current, waiter, true);
        return true;
    }

    /** What needs memory comes first: without it, the waiter is still in the queue. */
    private void give(HeldGrant current, Waiter waiter, boolean handedOff) {
        long now = engine().nanos();
        Hold hold = new Hold(current, this, now, waiter.requester, !waiter.asLease, waiter.thread() == null);
        hold.unreturned = waiter.gone;
        hold.interruptOnLoss = waiter.options.interruptOnLoss();
        if (handedOff && waiter.options.maxHold().isPresent()) { // it may end before the next run
            mutex().afterUnlock(() -> engine().renewals().scheduleNextRun(current));
        }
        current.beginHold(waiter.options, now);
        waiter.hold = hold;
        entry.queue().decide(waiter, Waiter.State.GRANTED);
        heldLock.begin(current, hold);
        events().acquired(hold, now - waiter.sinceNanos, handedOff);
    }

    // ---- ending

    /**
     * Ends a {@code lock} hold of the calling thread. A transition.
     *
     * @param reading whether it is a read hold under the thread's own exclusive lock
     * @return the release, or null if more holds remain or the lock was handed off
     * @throws IllegalMonitorStateException if the thread has no such hold
     * @throws LeaseLostException if the lease was lost
     */
    public @Nullable Release unlock(Thread thread, boolean reading) {
        return mutex().<@Nullable Release>get(() -> {
            Hold mine = holdOf(thread);
            if (mine == null || !mine.hasHolds(reading)) {
                throw Failures.notHeld(entry.name(), thread);
            }
            return endHold(mine, reading, true);
        });
    }

    /**
     * Takes, at most once, the interrupt that reported a loss to a thread that now ends its last hold; returns whether there was
     * one. A transition.
     */
    public boolean takeInterruptOfLoss(Thread thread) {
        return mutex().test(() -> {
            Hold unnoticed = heldLock.losses().find(thread);
            return unnoticed != null && unnoticed.isLastHold() && unnoticed.takeInterruptOfLoss();
        });
    }

    @Override
    public boolean takeInterruptOfLoss(Hold hold) {
        return mutex().test(() -> hold.isLastHold() && hold.takeInterruptOfLoss());
    }

    /** The {@code lock} hold of a thread, or its lost hold; null if there is none. */
    private @Nullable Hold holdOf(Thread thread) {
        Hold mine = heldLock.holdOf(thread);
        return mine != null ? mine : heldLock.losses().find(thread);
    }

    /**
     * The {@code lock} hold of a thread, or its lost hold; null if there is none. A transition.
     *
     * @param reading whether a read hold under the thread's exclusive lock is meant
     */
    public @Nullable Hold heldBy(Thread thread, boolean reading) {
        return mutex().<@Nullable Hold>get(() -> {
            Hold mine = holdOf(thread);
            return mine != null && mine.hasHolds(reading) ? mine : null;
        });
    }

    /** The number of {@code lock} holds of a thread that it has not ended, lost ones included. A transition. */
    public int holdCount(Thread thread, boolean reading) {
        return mutex().get(() -> {
            Hold mine = holdOf(thread);
            return mine == null ? 0 : mine.count(reading);
        });
    }

    @Override
    public @Nullable Release end(Hold hold, boolean reading, boolean here) {
        return mutex().<@Nullable Release>get(() -> endHold(hold, reading, here));
    }

    @Override
    public void endDropped(Hold hold) {
        mutex().submit(() -> endUnreturned(hold, false));
    }

    /** Ends a hold whose owner does not have it, or no longer. A blocking release runs on another thread. */
    void endUnreturned(Hold hold, boolean reading) {
        try {
            endHold(hold, reading, false);
        } catch (LeaseLostException alreadyReported) {
            LOG.debug("{}", alreadyReported.getMessage());
        }
    }

    @Override
    public CompletableFuture<LossReason> lossOf(Hold hold) {
        return mutex().get(hold::lost);
    }

    /**
     * Ends one hold. After the last one the grant lingers, is handed off or is released.
     *
     * @param here whether a blocking backend releases on this thread, or on a client thread
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
                heldLock.losses().remove(hold);
                if (hold.takeInterruptOfLoss()) {
                    Thread.interrupted(); // the interrupt arrived while this thread was about to end the hold
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
            engine().timer().after(current.minHoldLeftNanos(now), () -> mutex().submit(heldLock::endLinger));
            events().released(hold, now);
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

    // ---- releasing

    private Release release(HeldGrant current, Hold hold, boolean here) {
        Release release = new Release(hold, engine().nanos());
        mutex().afterUnlock(engine().releaser().release(current.grant, here, result -> {
            mutex().submit(() -> {
                try {
                    released(release, result);
                } finally {
                    mutex().afterUnlock(() -> release.outcome.complete(result));
                }
            });
        }));
        heldLock.leave(current);
        releasing = release;
        if (engine().info().ordered()) {
            mutex().afterUnlock(() -> sent(release)); // effects run in order, so the release has been sent by then
        }
        return release;
    }

    /**
     * Returns why a waiter whose deadline has passed could not be served while a release is in progress. Null means busy, unless
     * the store has not answered for a considerable time and for as long as the waiter waited.
     */
    @Nullable LockException unavailability(Waiter waiter) {
        long now = engine().nanos();
        long waitedNanos = Math.min(now - waiter.sinceNanos, engine().requestTimeoutNanos());
        long silentNanos = Math.max(waitedNanos, engine().requestTimeoutNanos() / 4);
        long openNanos = releasing == null ? 0 : now - releasing.begunNanos;
        boolean leftOpen = releasing != null && openNanos >= silentNanos;
        return entry.availability().unavailability(now - silentNanos, null, leftOpen, openNanos);
    }

    /** Records that a release has been sent; on an ordered store the next attempt may follow at once. A transition. */
    private void sent(Release release) {
        mutex().submit(() -> {
            if (releasing == release) {
                release.sent = true;
                callbacks.startNext();
            }
        });
    }

    private void released(Release release, @Nullable ReleaseResult result) {
        if (releasing == release) { // otherwise a later release is in progress
            releasing = null;
        }
        Hold hold = release.hold;
        if (result == ReleaseResult.NOT_HELD) {
            events().lost(mutex(), hold, LossReason.REVOKED, "the store no longer had it at the release");
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
