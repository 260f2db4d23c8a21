package dev.holdfast.lock.engine;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockUsage;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.OwnerId;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One name as this client contends for it with one demand: the local queue, and at most one entry on the server. A lock that is
 * held alone has one of these a name; for readers and permits see {@link OtherEntries}.
 *
 * <p><b>State.</b> There is nothing (idle, and then this object leaves the client's map), or a {@link PendingAcquisition} (an
 * acquisition under way for the first waiter), or the lock is here or being released ({@link HeldLock}, {@link LocalHolds}).
 * Waiters queue in all of them; {@link #startNext} starts a pending acquisition when there is a waiter and nothing else.
 *
 * <p><b>Races</b> are settled by the state that a transition finds ({@link StateMutex}). An answer to a pending acquisition that
 * has ended was given up: if it is a grant it is removed at once. A waiter that leaves is either still in the
 * queue, and then no grant can reach it, or was granted, and then it is told so. A signal during an attempt repeats the
 * attempt, as the answer may be older. A pending acquisition whose waiter left serves the next one with the same terms, or is
 * abandoned.
 */
final class LockEntry implements EntryCallbacks {

    /** What an entry needs of the client's map of entries. */
    interface Registry {
        /** Whether the client is closed. */
        boolean isClosed();

        /** The entry is idle, and will not be used again. */
        void retired(LockEntry entry);
    }

    private final Registry registry;
    private final StateMutex mutex = new StateMutex(this::retireIfIdle);
    private final EntryContext context;
    private final LossesByThread losses;
    private final HeldLock heldLock;
    private final Admission admission;
    private final LocalHolds holds;
    /** Waiters whose threads are in calls of a blocking backend that do not return. Rarely any. */
    private List<Waiter> stuckWaiters = Collections.emptyList();

    private @Nullable PendingAcquisition pending;
    private boolean retired;

    LockEntry(String name, EngineContext engine, Registry registry) {
        this(name, Demand.EXCLUSIVE, engine, registry);
    }

    LockEntry(String name, Demand demand, EngineContext engine, Registry registry) {
        this.registry = registry;
        this.context = EntryContext.of(name, demand, engine, mutex);
        this.losses = new LossesByThread(mutex, engine.deadOwners());
        this.heldLock = new HeldLock(context, losses, this);
        this.admission = Admission.of(context, heldLock);
        this.holds = new LocalHolds(context, heldLock, losses, admission, this);
    }

    String name() {
        return context.name();
    }

    Demand demand() {
        return context.demand();
    }

    private EngineContext engine() {
        return context.engine();
    }

    private WaitQueue queue() {
        return context.queue();
    }

    StateMutex mutex() {
        return mutex;
    }

    HeldLock heldLock() {
        return heldLock;
    }

    LocalHolds holds() {
        return holds;
    }

    // ---- callers come and go

    /**
     * Lets a waiter in: it may be decided at once. False if this object is retired, or takes in no more readers, and a new one
     * is to be used.
     */
    boolean submit(Waiter waiter) {
        return mutex.test(() -> {
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
                    startNext();
                    waiter.joinedDuringAttempt = pending != null && pending.isAsking();
                }
            }
            return true;
        });
    }

    /** Whether one that asks once need not ask: a reader whose process is asking already takes the answer to that. */
    private boolean isKnownBusy() {
        if (admission.isShared() && !holds.isBusy()) {
            return pending != null && !pending.isAsking();
        }
        return holds.isBusy() || !queue().isEmpty();
    }

    /** Lets a thread that has the lock alone read under it; false if it has not. */
    boolean readWithin(Waiter waiter) {
        return mutex.test(() -> !registry.isClosed() && holds.reenter(waiter, true));
    }

    /** A writer of this client waits for those who read here. */
    void writerWaits(Waiter writer) {
        mutex.run(() -> admission.writerWaits(writer.options.fair()));
    }

    /** Somebody waits for another entry of this name: perhaps for what its own thread has here. */
    void watch(Waiter waiter) {
        mutex.run(() -> SelfWait.watch(context, heldLock, waiter));
    }

    /** The caller does not want the lock any more; false if it has been decided already. */
    boolean cancel(Waiter waiter) {
        return mutex.test(() -> leave(waiter, Waiter.State.CANCELLED));
    }

    /**
     * The caller's deadline has passed: busy, if somebody else has the lock, or unavailable, if nobody could be asked. If
     * the first answer is still out, it is waited for as {@code tryLock()} would: a time shorter than a round trip must
     * not end otherwise than none at all.
     */
    void timeOut(Waiter waiter) {
        mutex.run(() -> {
            if (waiter.state != Waiter.State.WAITING) {
                return;
            }
            PendingAcquisition current = pending;
            LockException failure = current == null ? holds.unavailability(waiter) : current.unavailability(waiter);
            long leftNanos = engine().requestTimeoutNanos() - (engine().nanos() - waiter.sinceNanos);
            if (failure != null && current != null && current.isFirstAnswerPending() && leftNanos > 0) {
                waiter.awaitNextAnswer(engine().requestTimeoutNanos());
                if (waiter instanceof AsyncWaiter async) {
                    mutex.afterUnlock(() -> async.timeout(engine().timer().after(leftNanos, () -> timeOut(waiter))));
                }
                return;
            }
            waiter.failure = failure;
            leave(waiter, failure == null ? Waiter.State.BUSY : Waiter.State.FAILED);
        });
    }

    private boolean leave(Waiter waiter, Waiter.State state) {
        if (waiter.state != Waiter.State.WAITING) {
            return false;
        }
        clearStuck(waiter);
        leaveQueue(waiter, () -> queue().decide(waiter, state));
        return true;
    }

    /** Takes a waiter out of the queue, does {@code then}, and has the acquisition go on for the next one, or end. */
    private void leaveQueue(Waiter waiter, Runnable then) {
        queue().remove(waiter);
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
        waiter.stuckInDriver = true; // before the look at 'attempting': its thread clears that before it looks at this
        if (waiter.currentAttempt != attempt) {
            waiter.stuckInDriver = false; // it has returned meanwhile
        } else if (waiter.takesNextAnswer()) {
            waiter.failure = failure;
            leave(waiter, Waiter.State.FAILED);
        } else {
            leaveQueue(waiter, () -> {
                if (stuckWaiters.isEmpty()) {
                    stuckWaiters = new ArrayList<>(1);
                }
                stuckWaiters.add(waiter);
            });
        }
    }

    /** A transition: its thread has returned, and it is the last in the queue again, unless it has waited long enough. */
    void requeue(Waiter waiter) {
        mutex.run(() -> {
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
                // It would be given the next attempt, and the next, before it looks at its deadline.
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

    // ---- what follows what

    @Override
    public void startNext() {
        Waiter head = queue().head();
        if (head != null && pending == null && holds.isFree()) {
            PendingAcquisition begun = new PendingAcquisition(context, this, heldLock, holds, head.options);
            pending = begun;
            begun.ask();
        }
    }

    @Override
    public void pendingEnded() {
        pending = null;
    }

    private void retireIfIdle() {
        if (!retired
                && pending == null
                && !holds.isBusy()
                && queue().isEmpty()
                && stuckWaiters.isEmpty()
                && losses.isEmpty()) {
            retired = true;
            registry.retired(this);
        }
    }

    /** A transition: who has the lock here and who waits for it. */
    LockUsage usage() {
        return mutex.get(() -> EntryUsage.of(context, heldLock, stuckWaiters));
    }

    // ---- the backend's news, and the end

    /** The backend doubts a grant, perhaps one whose answer has not been seen yet. */
    void doubt(OwnerId owner, String detail) {
        mutex.run(() -> {
            if (!heldLock.doubt(owner, detail) && pending != null && pending.isOf(owner)) {
                pending.noteDoubt();
            }
        });
    }

    /** The backend says that a grant has ended, perhaps one whose answer has not been seen yet. */
    void lost(Grant grant, LossReason reason, String detail) {
        mutex.run(() -> {
            boolean isHeld = heldLock.lost(grant, reason, detail);
            if (!isHeld && pending != null && pending.isOf(grant.acquisition().owner())) {
                pending.noteLoss(grant.token());
            }
        });
    }

    /** The client closes: waiters fail, what is held is lost and released. */
    void close() {
        mutex.run(() -> {
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
            heldLock.close();
        });
    }
}
