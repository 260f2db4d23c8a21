package dev.holdfast.lock.engine;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.Renewal;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.OwnerId;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * One acquisition under way, for whichever local waiter is first: attempts, the store's signal, polls and retries, until
 * it is granted or given up. All attempts carry the same owner id, so an attempt whose answer was lost is resolved by the
 * next one. Everything but {@link #hasEnded} runs within the entry's {@link StateMutex}.
 */
final class PendingAcquisition {
    private enum State {
        /** The latest attempt is decided on or out. */
        ASKING,
        /** Somebody else has the lock: the store's signal or a poll repeats the attempt. */
        LISTENING,
        /** The latest attempt failed, and is repeated after a pause; or none was made yet. */
        RETRYING,
        /** Granted or given up. */
        ENDED
    }

    private final EntryContext entry;
    private final EngineContext engine;
    private final WaitQueue queue;
    private final EntryCallbacks callbacks;
    private final HeldLock heldLock;
    private final LocalHolds holds;
    private final AcquisitionOnServer acquisition;
    private final AttemptSender sender;
    private final AttemptSchedule schedule;

    /** Also read by whoever is about to send an attempt, or has just sent one. */
    private volatile State state = State.RETRYING;

    private @Nullable Round current;
    /** The backend doubted the grant before its answer was seen. */
    private boolean earlyDoubt;
    /** The highest token of a grant that has ended before its answer was seen, or 0; a later attempt may have got another. */
    private long lostToken;

    private @Nullable LockException lastFailure;

    PendingAcquisition(
            EntryContext entry, EntryCallbacks callbacks, HeldLock heldLock, LocalHolds holds, LockOptions options) {
        this.entry = entry;
        this.engine = entry.engine();
        this.queue = entry.queue();
        this.callbacks = callbacks;
        this.heldLock = heldLock;
        this.holds = holds;
        this.acquisition = new AcquisitionOnServer(entry, options);
        this.sender = new AttemptSender(entry, this, acquisition);
        this.schedule = new AttemptSchedule(entry, this::signalled, this::poll);
    }

    boolean isOf(OwnerId owner) {
        return acquisition.id.owner().equals(owner);
    }

    /** Whether an attempt is out or about to be. */
    boolean isAsking() {
        return state == State.ASKING;
    }

    boolean hasEnded() {
        return state == State.ENDED;
    }

    // ---- asking

    /** Sends the next attempt, on the first waiter's own thread if the backend blocks and that waiter has one. */
    void ask() {
        Waiter head = queue.head();
        if (head == null) {
            throw new IllegalStateException("lock '" + entry.name() + "': attempt without a waiter");
        }
        schedule.attemptBegins();
        Round next = sender.nextAttempt(head);
        current = next;
        state = State.ASKING;
        LockException overload = acquisition.overload();
        if (overload != null) {
            entry.mutex().afterUnlock(() -> entry.mutex().run(() -> failed(next, overload, false)));
        } else {
            sender.begin(next, head);
        }
    }

    private void signalled() {
        entry.mutex().run(() -> {
            schedule.signalled();
            if (state == State.ASKING) {
                latest().signalled = true;
            } else if (state != State.ENDED) {
                ask();
            }
        });
    }

    private void poll() {
        entry.mutex().run(() -> {
            if (state == State.LISTENING || state == State.RETRYING) {
                ask();
            }
        });
    }

    // ---- answers

    /** Whether an answer is the one that is waited for. */
    boolean isAwaited(Round asked) {
        return state == State.ASKING && asked == current;
    }

    private Round latest() {
        return Objects.requireNonNull(current, "round");
    }

    void answered(Round asked, @Nullable AcquireResult answer, @Nullable Throwable error) {
        if (state == State.ENDED) {
            if (AcquisitionOnServer.isShownBy(answer)) {
                abandonUnlessHeld();
            }
        } else if (answer instanceof AcquireResult.Granted granted) {
            granted(asked.sent(), granted.grant(), false);
        } else if (answer instanceof AcquireResult.Busy busy) {
            busy(asked, busy);
        } else if (answer instanceof AcquireResult.OtherLimit other) {
            otherLimit(asked, other.limit());
        } else {
            failed(asked, Failures.of(entry.name(), error), true);
        }
    }

    private void otherLimit(Round asked, int stored) {
        if (isAwaited(asked)) {
            acquisition.noteGone();
            failed(asked, Failures.otherLimit(entry.name(), entry.demand(), stored), false);
        }
    }

    /**
     * It has ended, and may be on the server again. What is held by now was uncertain, as it took a second attempt: it is
     * abandoned behind its release.
     */
    void abandonUnlessHeld() {
        if (!holds.isOf(acquisition.id)) {
            acquisition.abandon();
        }
    }

    /**
     * A release has made this acquisition the holder. The lease counts from when the latest attempt was sent, which the server carried
     * out before that release. If a later attempt is out, the next answer says who holds; if one was answered, or this comes too late,
     * another one asks.
     */
    void handedOver(Round asked, Grant grant) {
        if (state == State.ENDED) {
            abandonUnlessHeld();
        } else if (state == State.ASKING) {
            asked.handedOver = grant;
        } else if (asked == current && state == State.LISTENING) {
            handedOver(grant);
        } else if (queue.head() != null) {
            ask(); // the attempt failed, or is not the latest: the next one finds the grant, and need not wait
        }
    }

    /** The first lease is short: nothing for whoever does not renew it, or wants the lock to stay taken for a while at least. */
    static boolean mayBeHandedOver(Waiter head) {
        return head.options.renewal() == Renewal.AUTO && head.options.minHold().isZero();
    }

    private void handedOver(Grant grant) {
        RequestTime sent = latest().sent();
        Waiter head = queue.head(); // who asked may have left the queue
        long leftNanos = sent.validity(grant.leaseMillis()).remainingNanos(engine.ticker());
        if (head != null && mayBeHandedOver(head) && leftNanos > grant.leaseMillis() * 1_000_000 / 3) {
            granted(sent, grant, true);
        } else if (head != null) {
            ask();
        }
    }

    /** An answer to an earlier attempt counts if it is a grant: the server does not take that back. */
    private void granted(RequestTime sent, Grant grant, boolean handedOver) {
        Waiter head = queue.head();
        boolean isLost = grant.token() <= lostToken;
        if (head == null || isLost || !acquisition.serves(head.options)) {
            end();
            acquisition.abandon();
            callbacks.startNext();
            return;
        }
        long now = engine.nanos();
        HeldGrant heldGrant = new HeldGrant(heldLock, grant, head.options, now, sent, acquisition.isUncertain());
        if (heldGrant.remainingNanos(engine.ticker()) > 0) {
            if (handedOver) {
                heldGrant.renewSoon(now, engine.ticker());
            }
            end();
            entry.availability().noteAnswer();
            holds.begin(heldGrant, head);
            queue.finishBusy();
            if (earlyDoubt) {
                heldLock.doubt(acquisition.id.owner(), "doubted before the grant was seen");
            }
        } else {
            fail(Failures.grantedTooLate(entry.name(), now - sent.nanos(), grant.leaseMillis()), true);
        }
    }

    private void busy(Round asked, AcquireResult.Busy busy) {
        if (!isAwaited(asked)) {
            return;
        }
        state = State.LISTENING;
        lastFailure = null;
        entry.availability().noteAnswer();
        schedule.succeeded();
        acquisition.noteBusy(busy.ticket());
        queue.finishBusy();
        Waiter head = queue.head();
        if (head == null || !acquisition.serves(head.options)) {
            giveUp();
            callbacks.startNext();
        } else if (asked.handedOver != null) {
            handedOver(asked.handedOver);
        } else if (asked.signalled || !asked.askedToWait()) {
            ask();
        } else {
            schedule.listen(busy);
        }
    }

    /** The thread that makes an attempt does not return from it. */
    void stuck(Round asked, Waiter asking, Runnable attempt, LockException failure) {
        if (asking.thread() != null) {
            callbacks.skipStuckWaiter(asking, attempt, failure);
        }
        failed(asked, failure, true);
    }

    void failed(Round asked, LockException failure, boolean wasSent) {
        if (isAwaited(asked)) {
            fail(failure, wasSent);
        }
    }

    /**
     * Tells the waiters who do not wait for better times; tries again for the others. Not with the same acquisition if the
     * store was not asked to let it wait: what it did to end it, such as leaving a queue, may still arrive. An attempt that was
     * cut off by its waiter's deadline says nothing to anybody: who waits for one answer gets the next.
     */
    private void fail(LockException failure, boolean wasSent) {
        state = State.RETRYING;
        boolean refused = failure instanceof LockConfigurationException;
        boolean onlyRefused = wasSent && refused && !acquisition.mayBeThere();
        if (wasSent && !refused) {
            acquisition.noteUncertain();
        }
        boolean mayPass = failure instanceof LockUnavailableException;
        boolean cutOff = mayPass && latest().isCutOff(engine.nanos());
        long failingNanos = schedule.failed();
        if (!cutOff) {
            lastFailure = failure;
            queue.finishFailed(failure, mayPass, failingNanos);
        }
        Waiter head = queue.head();
        if (head == null || !mayPass || !latest().askedToWait() || !acquisition.serves(head.options)) {
            giveUp();
            if (onlyRefused) {
                acquisition.abandonRefused();
            }
            callbacks.startNext();
        } else if (latest().handedOver != null || cutOff && head.takesNextAnswer()) {
            ask();
        } else {
            schedule.retry();
        }
    }

    // ---- waiters, and the end

    /**
     * Why a waiter whose deadline has passed could not be served: null, that is busy, if the store answered while it
     * waited and not longer ago than a request may take, or was not asked since, as is usual while a signal is waited for.
     */
    @Nullable LockException unavailability(Waiter waiter) {
        long now = engine.nanos();
        long waitedNanos = now - waiter.sinceNanos;
        long recentNanos = Math.min(waitedNanos, engine.requestTimeoutNanos());
        return entry.availability()
                .unavailability(now - recentNanos, lastFailure, isLeftOpen(waiter, now, recentNanos), waitedNanos);
    }

    /**
     * Whether an attempt has been out for that long; the first one for half as long, as its waiter may have waited for a release
     * before. Where one was out when the waiter came, and nothing was answered since, the clock does not matter: the waiter's thread
     * may have stood still before it asked.
     */
    private boolean isLeftOpen(Waiter waiter, long nowNanos, long silentNanos) {
        return state == State.ASKING
                && (nowNanos - latest().begunNanos >= (latest().isFirst() ? silentNanos / 2 : silentNanos)
                        || waiter.joinedDuringAttempt && !entry.availability().wasAnsweredSince(waiter.sinceNanos));
    }

    /** Whether an attempt is out, and nothing has failed before it. */
    boolean isFirstAnswerPending() {
        return state == State.ASKING && lastFailure == null;
    }

    /** A waiter has left the queue; an attempt that it was to make has not begun. */
    void waiterLeft(boolean undoneAttempt) {
        if (state == State.ASKING && !undoneAttempt) {
            return;
        }
        if (undoneAttempt) {
            undo(latest());
        }
        Waiter head = queue.head();
        if (head == null || !acquisition.serves(head.options)) {
            giveUp();
            callbacks.startNext();
        } else if (undoneAttempt || state == State.RETRYING && head.takesNextAnswer()) {
            ask(); // perhaps the deadline of the one that left cut off the attempt that the next one waited for
        }
    }

    /** Nothing was sent of it. */
    private void undo(Round undone) {
        state = State.RETRYING;
        if (undone.untilBegun != null) {
            entry.mutex().afterUnlock(undone.untilBegun::end);
        }
    }

    void noteLoss(long token) {
        lostToken = Math.max(lostToken, token);
    }

    void noteDoubt() {
        earlyDoubt = true;
    }

    /** Ends it, as nobody waits any more; an attempt that one of them was to make has not begun. */
    void giveUp(boolean undoneAttempt) {
        if (undoneAttempt) {
            undo(latest());
        }
        giveUp();
    }

    /** Ends it, and removes whatever it has on the server. */
    private void giveUp() {
        boolean mayBeOnServer = acquisition.mayBeThere() || state == State.ASKING;
        end();
        if (mayBeOnServer) {
            acquisition.abandon();
        }
    }

    private void end() {
        state = State.ENDED;
        callbacks.pendingEnded();
        schedule.close();
    }
}
