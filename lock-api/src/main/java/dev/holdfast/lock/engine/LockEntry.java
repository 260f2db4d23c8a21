package dev.holdfast.lock.engine;

import dev.holdfast.lock.AttemptOutcome;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockUsage;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.OwnerId;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * One name as this client contends for it: the local queue, and at most one entry on the server.
 *
 * <p><b>State.</b> There is nothing (idle, and then this object leaves the client's map), or a {@link PendingAcquisition} (an
 * acquisition under way for the first waiter), or the lock is here or being released ({@link HeldLock}). Waiters
 * queue in all of them; {@link #kick} starts a pending acquisition when there is a waiter and nothing else.
 *
 * <p><b>Races</b> are settled by the state that a transition finds ({@link StateMutex}). An answer to a pending acquisition that is
 * not current any more was given up: if it is a grant it is removed at once. A waiter that leaves is either still in the
 * queue, and then no grant can reach it, or was granted, and then it is told so. A signal during an attempt repeats the
 * attempt, as the answer may be older. A pending acquisition whose waiter left serves the next one with the same terms, or is
 * abandoned.
 */
final class LockEntry {
    private final String name;
    private final EngineClient client;
    private final StateMutex mutex = new StateMutex(this::retireIfIdle);
    private final WaitQueue queue = new WaitQueue();
    private final HeldLock heldLock;
    /** Waiters whose threads are in calls of a blocking backend that do not return. Rarely any. */
    private final List<Waiter> absent = new ArrayList<>(0);

    private @Nullable PendingAcquisition pending;
    private boolean retired;
    private boolean answered;
    private long answeredNanos;

    LockEntry(String name, EngineClient client) {
        this.name = name;
        this.client = client;
        this.heldLock = new HeldLock(this);
    }

    // ---- callers come and go

    /** Lets a waiter in: it may be decided at once. False if this object is retired and a new one is to be used. */
    boolean submit(Waiter waiter) {
        return mutex.test(() -> {
            if (retired) {
                return false;
            }
            if (client.isClosed()) {
                fail(waiter, Failures.closed(name));
            } else if (!heldLock.reenter(waiter)) {
                waiter.announced = true;
                client.events().tell(listener -> listener.attempted(name));
                if (waiter.triesOnce() && (heldLock.isBusy() || !queue.isEmpty())) {
                    decide(waiter, Waiter.State.BUSY);
                } else {
                    queue.add(waiter);
                    SelfWait.watch(this, waiter);
                    kick();
                }
            }
            return true;
        });
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
            LockException failure = current == null ? heldLock.unavailability(waiter) : current.unavailability(waiter);
            long leftNanos = client.requestTimeoutNanos() - (client.ticker().nanos() - waiter.sinceNanos);
            if (failure != null && current != null && current.isFirstAnswerOut() && leftNanos > 0) {
                waiter.awaitOneAnswer(client.requestTimeoutNanos());
                if (waiter instanceof AsyncWaiter async) {
                    mutex.afterUnlock(
                            () -> async.timeout(client.runtime().timer().after(leftNanos, () -> timeOut(waiter))));
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
        forgetAbsence(waiter);
        leaveQueue(waiter, () -> decide(waiter, state));
        return true;
    }

    private void leaveQueue(Waiter waiter, Runnable then) {
        queue.remove(waiter);
        then.run();
        boolean undoneAttempt = waiter.takeTask() != null;
        PendingAcquisition current = pending;
        if (current != null) {
            current.waiterLeft(undoneAttempt);
        }
    }

    /**
     * A waiter's own thread does not return from its attempt. It cannot be told before it does, but nobody is to wait
     * behind it: if it asked once, it has failed; otherwise it leaves the queue until it comes back.
     */
    void passOver(Waiter waiter, Runnable attempt, LockException failure) {
        if (waiter.state != Waiter.State.WAITING || waiter.absent) {
            return;
        }
        waiter.absent = true; // before the look: the thread looks at this after it has cleared that
        if (waiter.attempting != attempt) {
            waiter.absent = false; // it has returned meanwhile
        } else if (waiter.takesNextAnswer()) {
            waiter.failure = failure;
            leave(waiter, Waiter.State.FAILED);
        } else {
            leaveQueue(waiter, () -> absent.add(waiter));
        }
    }

    /** A transition: its thread has returned, and it is the last in the queue again, unless it has waited long enough. */
    void comeBack(Waiter waiter) {
        mutex.run(() -> {
            if (!waiter.absent) {
                return;
            }
            forgetAbsence(waiter);
            if (waiter.state != Waiter.State.WAITING) {
                return;
            }
            long now = client.ticker().nanos();
            long patience = client.unavailableTimeoutNanos();
            long waited = now - waiter.sinceNanos;
            if (waiter.waitsForever() && waited >= patience && !wasAnsweredSince(now - patience)) {
                fail(waiter, Failures.stalled(name, waited));
            } else if (!waiter.waitsForever() && waiter.remainingNanos(now) == 0) {
                // It would be given the next attempt, and the next, before it looks at its deadline.
                if (wasAnsweredSince(now - Math.min(waited, client.requestTimeoutNanos()))) {
                    decide(waiter, Waiter.State.BUSY);
                } else {
                    fail(waiter, Failures.stalled(name, waited));
                }
            } else {
                queue.add(waiter);
                kick();
            }
        });
    }

    private void forgetAbsence(Waiter waiter) {
        if (waiter.absent) {
            waiter.absent = false;
            absent.remove(waiter);
        }
    }

    /** Tells a waiter how it ended. */
    void decide(Waiter waiter, Waiter.State state) {
        waiter.state = state;
        if (waiter.announced && state != Waiter.State.GRANTED) {
            AttemptOutcome outcome = waiter.outcome();
            Duration waited = Duration.ofNanos(client.ticker().nanos() - waiter.sinceNanos);
            client.events().tell(listener -> listener.gaveUp(name, waited, outcome));
        }
        if (waiter.thread() != Thread.currentThread()) {
            mutex.afterUnlock(waiter::wakeUp);
        }
    }

    void fail(Waiter waiter, LockException failure) {
        waiter.failure = failure;
        decide(waiter, Waiter.State.FAILED);
    }

    // ---- what the parts need of each other, all within transitions

    /** The store has answered to something about this name. */
    void noteAnswer() {
        answeredNanos = client.ticker().nanos();
        answered = true;
    }

    boolean wasAnsweredSince(long nanos) {
        return answered && answeredNanos - nanos >= 0;
    }

    /** Starts an acquisition if there is a waiter and nothing else. */
    void kick() {
        Waiter head = queue.head();
        if (head != null && pending == null && heldLock.isFree()) {
            PendingAcquisition begun = new PendingAcquisition(this, head.options);
            pending = begun;
            begun.ask();
        }
    }

    boolean isCurrent(PendingAcquisition candidate) {
        return pending == candidate;
    }

    void endPending() {
        pending = null;
    }

    /** A transition: nobody is left to be told of what a dead thread has lost. */
    void forgetDeadOwners() {
        mutex.run(() -> {
            heldLock.lost().forgetTheDead();
            if (heldLock.lost().isEmpty()) {
                client.forgetLosses(this);
            }
        });
    }

    private void retireIfIdle() {
        if (!retired
                && pending == null
                && !heldLock.isBusy()
                && queue.isEmpty()
                && absent.isEmpty()
                && heldLock.lost().isEmpty()) {
            retired = true;
            client.forget(this);
        }
    }

    String name() {
        return name;
    }

    EngineClient client() {
        return client;
    }

    StateMutex mutex() {
        return mutex;
    }

    WaitQueue queue() {
        return queue;
    }

    HeldLock heldLock() {
        return heldLock;
    }

    /** Removes whatever an acquisition has on the server, after the present transition. */
    void abandon(AcquisitionId acquisition, long leaseMillis) {
        mutex.afterUnlock(client.releaser().abandon(acquisition, leaseMillis));
    }

    /** A transition: who has the lock here and who waits for it; null if nobody does either. */
    @Nullable LockUsage usage() {
        return mutex.<@Nullable LockUsage>get(() -> {
            List<LockUsage.Waiter> waiting = new ArrayList<>();
            for (Waiter waiter = queue.head(); waiter != null; waiter = waiter.after) {
                waiting.add(usageOf(waiter));
            }
            absent.forEach(waiter -> waiting.add(usageOf(waiter)));
            Optional<LockUsage.Holder> holder = heldLock.usage();
            return holder.isEmpty() && waiting.isEmpty() ? null : new LockUsage(name, holder, waiting);
        });
    }

    private LockUsage.Waiter usageOf(Waiter waiter) {
        return new LockUsage.Waiter(
                waiter.requester.getName(),
                waiter.thread() == null,
                waiter.asLease,
                client.wallTimeOf(waiter.sinceNanos));
    }

    // ---- the backend's news, and the end

    /** The backend doubts a grant, perhaps one whose answer has not been seen yet. */
    void doubt(OwnerId owner, String detail) {
        mutex.run(() -> {
            if (!heldLock.doubt(owner, detail)
                    && pending != null
                    && pending.acquisition().owner().equals(owner)) {
                pending.noteDoubt();
            }
        });
    }

    /** The backend says that a grant has ended, perhaps one whose answer has not been seen yet. */
    void lost(OwnerId owner, LossReason reason, String detail) {
        mutex.run(() -> {
            if (!heldLock.lost(owner, reason, detail)
                    && pending != null
                    && pending.acquisition().owner().equals(owner)) {
                pending.noteLoss();
            }
        });
    }

    /** The client closes: waiters fail, what is held is lost and released. */
    void close() {
        mutex.run(() -> {
            for (Waiter waiter = queue.head(); waiter != null; waiter = queue.head()) {
                queue.remove(waiter);
                waiter.takeTask();
                fail(waiter, Failures.closed(name));
            }
            for (Waiter waiter : absent) {
                waiter.absent = false;
                fail(waiter, Failures.closed(name));
            }
            absent.clear();
            if (pending != null) {
                pending.giveUp();
            }
            heldLock.close();
        });
    }
}
