package dev.holdfast.lock.engine.internal.queue;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockUsage;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.engine.internal.hold.Hold;
import dev.holdfast.lock.engine.internal.runtime.Failures;
import dev.holdfast.lock.engine.internal.runtime.StateMutex;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.OwnerId;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The state of one name and one demand in this client: the local queue, and at most one acquisition on the server. An exclusive
 * lock has one entry per name; for readers and permits see {@link SharedEntries}.
 *
 * <p><b>State.</b> The entry is idle, and is then removed from the client's map; or it has a {@link PendingAcquisition} for the
 * first waiter; or the lock is held or being released ({@link HeldLock}, {@link LocalHolds}). Waiters queue in all of these
 * states. {@link #startNext} starts a pending acquisition when there is a waiter and none of the others.
 *
 * <p><b>Races</b> are decided by the state that a transition finds ({@link StateMutex}). An answer to a pending acquisition that has
 * ended is late: if it is a grant, it is removed at once. A waiter that leaves is either still in the queue, where no grant can
 * reach it, or it has been granted, and is notified. A signal during an attempt repeats the attempt, as the answer may be older.
 * A pending acquisition whose waiter has left serves the next waiter with the same options, or is abandoned.
 */
public final class LockEntry implements EntryCallbacks, StateMutex.Guarded, Waiter.Origin {

    /** The operations of the client's map of entries that an entry calls. */
    interface Registry {
        /** Whether the client is closed. */
        boolean isClosed();

        /** Removes an entry that is idle and will not be used again. */
        void retired(LockEntry entry);
    }

    private final Registry registry;
    private final EntryContext context;
    private final HeldLock heldLock;
    private final Admission admission;
    private final LocalHolds holds;
    /** Waiters whose threads are stuck in calls of a blocking backend. Rarely any. */
    private List<Waiter> stuckWaiters = Collections.emptyList();

    private @Nullable PendingAcquisition pending;
    private boolean retired;

    public LockEntry(String name, EngineContext engine, Registry registry) {
        this(name, Demand.EXCLUSIVE, engine, registry);
    }

    public LockEntry(String name, Demand demand, EngineContext engine, Registry registry) {
        this.registry = registry;
        this.context = EntryContext.of(name, demand, engine, new StateMutex(this));
        this.heldLock = new HeldLock(context, new LossesByThread(context.mutex(), engine.deadOwners()), this);
        this.admission = Admission.of(context, heldLock);
        this.holds = new LocalHolds(context, heldLock, admission, this);
    }

    public String name() {
        return context.name();
    }

    public Demand demand() {
        return context.demand();
    }

    private EngineContext engine() {
        return context.engine();
    }

    private WaitQueue queue() {
        return context.queue();
    }

    public StateMutex mutex() {
        return context.mutex();
    }

    public HeldLock heldLock() {
        return heldLock;
    }

    public LocalHolds holds() {
        return holds;
    }

    // ---- waiters

    /**
     * Admits a waiter, which may be decided at once. Returns false if this entry is retired, or admits no more readers, and a new
     * entry must be used.
     */
    public boolean submit(Waiter waiter) {
        waiter.origin = this;
        return mutex().test(() -> {
            if (retired) {
                return false;
            }
            if (registry.isClosed()) {
                queue().fail(waiter, Failures.closed(name()));
            } else if (!holds.reenter(waiter, false)) {
                if (!admission.tryAdmit(waiter)) {
                    return false;
                }
                waiter.announced = true;
                if (engine().events().hasListeners()) {
                    engine().events().publish(listener -> listener.attempted(name()));
                }
                if (holds.join(waiter)) {
                    return true;
                }
                if (waiter.triesOnce() && isKnownBusy()) {
                    queue().decide(waiter, Waiter.State.BUSY);
                } else {
                    queue().add(waiter);
                    SelfWait.watch(context, heldLock, waiter);
                    revive();
                    waiter.joinedDuringAttempt = pending != null && pending.isAsking();
                }
            }
            return true;
        });
    }

    /**
     * Whether a waiter that tries once can be answered without an attempt. Waiters without an acquisition, after a failure without
     * memory, show nothing. A reader uses the answer to an attempt that is already
     * in flight.
     */
    private boolean isKnownBusy() {
        if (admission.isShared() && !holds.isBusy()) {
            return pending != null && !pending.isAsking();
        }
        return holds.isBusy() || pending != null && !queue().isEmpty();
    }

    /** Adds a read hold to a thread that holds the exclusive lock; returns false if it does not. */
    boolean readWithin(Waiter waiter) {
        return mutex().test(() -> !registry.isClosed() && holds.reenter(waiter, true));
    }

    /** Reports that a writer of this client waits for the readers of this entry. */
    void writerWaits(Waiter writer) {
        mutex().run(() -> admission.writerWaits(writer.options.fair()));
    }

    /** Whether a thread requested the hold of this entry. */
    boolean isAskedForBy(Thread thread) {
        return mutex().test(() -> heldLock.askedForBy(thread) != null);
    }

    /** Watches a waiter of another entry of this name, which may wait for a hold of its own thread here. */
    void watch(Waiter waiter) {
        mutex().run(() -> SelfWait.watch(context, heldLock, waiter));
    }

    /**
     * Takes a waiter back whose call ends with a failure, for example without memory: it leaves the queue, and a hold that it was
     * granted ends, so that nothing is renewed for a caller that got nothing.
     */
    @Override
    public void takeBack(Waiter waiter) {
        mutex().submit(() -> {
            Hold granted = waiter.hold;
            if (waiter.state == Waiter.State.GRANTED && granted != null) {
                holds.endUnreturned(granted, waiter.reading);
            } else {
                leave(waiter, Waiter.State.CANCELLED);
            }
        });
    }

    /** Cancels a waiter; returns false if it has been decided already. */
    public boolean cancel(Waiter waiter) {
        return mutex().test(() -> leave(waiter, Waiter.State.CANCELLED));
    }

    /**
     * Ends a waiter whose deadline has passed: as busy if another owner holds the lock, or as unavailable if the store did not
     * answer. If the first answer is still pending, the waiter waits for it as {@code tryLock()} would, since a wait shorter than
     * a round trip must not end differently from no wait at all.
     */
    public void timeOut(Waiter waiter) {
        mutex().run(() -> endInTime(waiter));
    }

    /** The same for a timer, which does not wait for the transition. */
    public void timeOutSoon(Waiter waiter) {
        mutex().submit(() -> endInTime(waiter));
    }

    private void endInTime(Waiter waiter) {
        if (waiter.state != Waiter.State.WAITING) {
            return;
        }
        PendingAcquisition current = pending;
        LockException failure = current == null ? holds.unavailability(waiter) : current.unavailability(waiter);
        long leftNanos = engine().requestTimeoutNanos() - (engine().nanos() - waiter.sinceNanos);
        if (failure != null && current != null && current.isFirstAnswerPending() && leftNanos > 0) {
            queue().awaitNextAnswer(waiter, engine().requestTimeoutNanos());
            if (waiter instanceof AsyncWaiter async) {
                mutex().afterUnlock(() -> async.timeout(engine().timer().after(leftNanos, () -> timeOutSoon(waiter))));
            }
            return;
        }
        waiter.failure = failure;
        leave(waiter, failure == null ? Waiter.State.BUSY : Waiter.State.FAILED);
    }

    private boolean leave(Waiter waiter, Waiter.State state) {
        if (waiter.state != Waiter.State.WAITING) {
            return false;
        }
        clearStuck(waiter);
        leaveQueue(waiter, () -> queue().decide(waiter, state));
        return true;
    }

    /** Runs {@code then}, which removes a waiter from the queue, and lets the acquisition continue for the next waiter, or end. */
    private void leaveQueue(Waiter waiter, Runnable then) {
        then.run();
        boolean undoneAttempt = waiter.takeTask() != null;
        PendingAcquisition current = pending;
        if (current != null) {
            current.waiterLeft(undoneAttempt);
        }
    }

    @Override
    public void skipStuckWaiter(Waiter waiter, Runnable attempt, LockException failure) {
        if (waiter.state != Waiter.State.WAITING || waiter.stuckInDriver) {
            return;
        }
        // Set before 'currentAttempt' is read: the waiter's thread clears that field before it reads this one.
        waiter.stuckInDriver = true;
        if (waiter.currentAttempt != attempt) {
            waiter.stuckInDriver = false; // the thread has returned meanwhile
        } else if (waiter.takesNextAnswer()) {
            waiter.failure = failure;
            leave(waiter, Waiter.State.FAILED);
        } else {
            leaveQueue(waiter, () -> {
                if (stuckWaiters.isEmpty()) {
                    stuckWaiters = new ArrayList<>(1);
                }
                stuckWaiters.add(waiter);
                queue().remove(waiter);
            });
        }
    }

    /**
     * Puts a waiter whose thread has returned from the driver at the end of the queue, or ends it if its time has passed. A
     * transition.
     */
    public void requeue(Waiter waiter) {
        mutex().run(() -> {
            if (!waiter.stuckInDriver) {
                return;
            }
            clearStuck(waiter);
            if (waiter.state != Waiter.State.WAITING) {
                return;
            }
            long now = engine().nanos();
            long limitNanos = engine().unavailableTimeoutNanos();
            long waited = now - waiter.sinceNanos;
            boolean answered = context.availability().wasAnsweredSince(now - limitNanos);
            if (waiter.waitsForever() && waited >= limitNanos && !answered) {
                queue().fail(waiter, Failures.stalled(name(), waited));
            } else if (!waiter.waitsForever() && waiter.remainingNanos(now) == 0) {
                // Otherwise it would get the next attempts before it checks its deadline.
                long recentNanos = Math.min(waited, engine().requestTimeoutNanos());
                waiter.failure = context.availability().unavailability(now - recentNanos, null, true, waited);
                queue().decide(waiter, waiter.failure == null ? Waiter.State.BUSY : Waiter.State.FAILED);
            } else if (!holds.join(waiter)) {
                queue().add(waiter);
                startNext();
            }
        });
    }

    private void clearStuck(Waiter waiter) {
        if (waiter.stuckInDriver) {
            waiter.stuckInDriver = false;
            stuckWaiters.remove(waiter);
        }
    }

    // ---- transitions between the states

    @Override
    public void startNext() {
        Waiter head = queue().head();
        if (head != null && pending == null && holds.isFree()) {
            PendingAcquisition begun = new PendingAcquisition(context, this, heldLock, holds, head.options);
            pending = begun;
            begun.ask();
        }
    }

    /** For a thread that has waited for a while: goes on where a failure without memory has ended something. */
    public void resume() {
        mutex().submit(this::revive);
    }

    /**
     * Removes a waiter whose call has failed, repeats an attempt that nothing else would repeat, gives back a grant that nobody
     * holds, and begins an acquisition if none is pending although somebody waits.
     */
    private void revive() {
        for (Waiter head = queue().head(); head != null && head.gone; head = queue().head()) {
            leave(head, Waiter.State.CANCELLED);
        }
        if (pending != null && !queue().isEmpty()) {
            pending.resume();
        }
        heldLock.endLinger();
        if (heldLock.grant() != null) {
            queue().finishBusy();
        }
        startNext();
    }

    @Override
    public void pendingEnded() {
        pending = null;
    }

    /** Leaves the client's map if it is idle. */
    @Override
    public void endTransition() {
        if (!retired
                && pending == null
                && !holds.isBusy()
                && queue().isEmpty()
                && stuckWaiters.isEmpty()
                && heldLock.losses().isEmpty()) {
            retired = true;
            registry.retired(this);
        }
    }

    /** The holders and the waiters of this entry. A transition. */
    LockUsage usage() {
        return mutex().get(() -> EntryUsage.of(context, heldLock, stuckWaiters));
    }

    // ---- reports of the backend, and close

    /** Puts a grant in doubt, perhaps one whose answer has not arrived yet. */
    void doubt(OwnerId owner, String detail) {
        mutex().submit(() -> {
            if (!heldLock.doubt(owner, detail) && pending != null && pending.isOf(owner)) {
                pending.noteDoubt();
            }
        });
    }

    /** Ends a grant at the backend's report, perhaps one whose answer has not arrived yet. */
    void lost(Grant grant, LossReason reason, String detail) {
        mutex().submit(() -> {
            boolean isHeld = heldLock.lost(grant, reason, detail);
            if (!isHeld && pending != null && pending.isOf(grant.acquisition().owner())) {
                pending.noteLoss(grant.token());
            }
        });
    }

    /** Closes the entry with the client: waiters fail, a held lock is lost, and released unless work under it still runs. */
    void close(boolean workRuns) {
        mutex().run(() -> {
            boolean undoneAttempt = false;
            for (Waiter waiter = queue().head(); waiter != null; waiter = queue().head()) {
                queue().remove(waiter);
                undoneAttempt |= waiter.takeTask() != null;
                queue().fail(waiter, Failures.closed(name()));
            }
            for (Waiter waiter : stuckWaiters) {
                waiter.stuckInDriver = false;
                queue().fail(waiter, Failures.closed(name()));
            }
            stuckWaiters.clear();
            if (pending != null) {
                pending.giveUp(undoneAttempt);
            }
            heldLock.close(workRuns);
        });
    }
}
