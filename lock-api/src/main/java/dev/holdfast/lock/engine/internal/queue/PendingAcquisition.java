package dev.holdfast.lock.engine.internal.queue;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.Renewal;
import dev.holdfast.lock.engine.internal.hold.HeldGrant;
import dev.holdfast.lock.engine.internal.runtime.Failures;
import dev.holdfast.lock.engine.internal.runtime.RequestTime;
import dev.holdfast.lock.engine.internal.runtime.StateMutex;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.OwnerId;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * One acquisition in progress, for the local waiter that is first: attempts, the store's signal, polls and retries, until it is
 * granted or given up. All attempts carry the same owner id, so that the next attempt resolves one whose answer was lost.
 * Everything but {@link #hasEnded} runs within the entry's {@link StateMutex}.
 */
final class PendingAcquisition {
    private enum State {
        /** The latest attempt is being sent or is in flight. */
        ASKING,
        /** Another owner holds the lock: the store's signal or a poll repeats the attempt. */
        LISTENING,
        /** The latest attempt failed and is repeated after a pause, or there was none yet. */
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

    /** Volatile, as the thread that sends an attempt reads it without the mutex. */
    private volatile State state = State.RETRYING;

    private @Nullable Attempt current;
    /** Whether the backend put the grant in doubt before its answer arrived. */
    private boolean earlyDoubt;
    /** The highest token of a grant that ended before its answer arrived, or 0; a later attempt may have a higher one. */
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

    /** Whether an attempt is in flight or about to be sent. */
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
        try {
            begin(head);
        } catch (Throwable e) {
            stop();
            throw e;
        }
    }

    private void begin(Waiter head) {
        schedule.attemptBegins();
        Attempt next = sender.nextAttempt(head);
        current = next;
        state = State.ASKING;
        LockException overload = acquisition.overload();
        if (overload != null) {
            entry.mutex().afterUnlock(() -> entry.mutex().run(() -> failed(next, overload, false)));
        } else {
            sender.begin(next, head);
        }
    }

    /**
     * Ends the acquisition if a step of it fails, for example without memory: nothing would repeat the attempt. The next call for
     * the name begins another one, and a waiting thread does so within a second ({@link LockEntry#resume}).
     */
    private void stop() {
        if (state != State.ENDED) {
            giveUp();
        }
    }

    /** Repeats an attempt that nothing else repeats any more: there was no memory for its timer or its answer. */
    void resume() {
        if (state == State.ASKING && latest().isOverdue(engine)) {
            fail(Failures.stalled(entry.name(), engine.nanos() - latest().begunNanos), true);
        } else if (state != State.ASKING && schedule.isOverdue()) {
            ask();
        }
    }

    private void signalled() {
        entry.mutex().submit(() -> {
            schedule.signalled();
            if (state == State.ASKING) {
                latest().signalled = true;
            } else if (state != State.ENDED) {
                ask();
            }
        });
    }

    private void poll() {
        entry.mutex().submit(() -> {
            if (state == State.LISTENING || state == State.RETRYING) {
                ask();
            }
        });
    }

    // ---- answers

    /** Whether the answer to an attempt is awaited. */
    boolean isAwaited(Attempt asked) {
        return state == State.ASKING && asked == current;
    }

    private Attempt latest() {
        return Objects.requireNonNull(current, "round");
    }

    void answered(Attempt asked, @Nullable AcquireResult answer, @Nullable Throwable error) {
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

    private void otherLimit(Attempt asked, int stored) {
        if (isAwaited(asked)) {
            acquisition.noteGone();
            failed(asked, Failures.otherLimit(entry.name(), entry.demand(), stored), false);
        }
    }

    /**
     * Abandons the acquisition, which has ended but may exist on the server again, unless it is held. A held one took a second
     * attempt and is abandoned after its release anyway.
     */
    void abandonUnlessHeld() {
        if (!holds.isOf(acquisition.id)) {
            acquisition.abandon();
        }
    }

    /**
     * Handles the message that a release has made this acquisition the holder. The lease counts from the time when the latest
     * attempt was sent, which the server processed before that release. If a later attempt is in flight, its answer decides. If a
     * later one was answered, or the message is late, a new attempt asks the store.
     */
    void handedOver(Attempt asked, Grant grant) {
        if (state == State.ENDED) {
            abandonUnlessHeld();
        } else if (state == State.ASKING) {
            asked.handedOver = grant;
        } else if (asked == current && state == State.LISTENING) {
            handedOver(grant);
        } else if (queue.head() != null) {
            ask(); // the attempt failed, or is not the latest: the next attempt finds the grant at once
        }
    }

    /** Whether a waiter can use the short first lease of a hand-over: it renews the lease, and has no minHold. */
    static boolean mayBeHandedOver(Waiter head) {
        return head.options.renewal() == Renewal.AUTO && head.options.minHold().isZero();
    }

    private void handedOver(Grant grant) {
        RequestTime sent = latest().sent();
        Waiter head = queue.head(); // the original waiter may have left the queue
        long leftNanos = sent.validity(grant.leaseMillis()).remainingNanos(engine.ticker());
        if (head != null && mayBeHandedOver(head) && leftNanos > grant.leaseMillis() * 1_000_000 / 3) {
            granted(sent, grant, true);
        } else if (head != null) {
            ask();
        }
    }

    /** Handles a grant, also if it answers an earlier attempt, as the server does not revoke it. */
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
            try {
                holds.begin(heldGrant, head);
            } finally {
                if (heldLock.grant()
                        == heldGrant) { // else there was no memory for it, and the next attempt finds the grant
                    endAsHeld();
                }
            }
            entry.availability().noteAnswer();
            holds.joinAll();
            queue.finishBusy();
        } else {
            fail(Failures.grantedTooLate(entry.name(), now - sent.nanos(), grant.leaseMillis()), true);
        }
    }

    private void endAsHeld() {
        try {
            if (earlyDoubt) {
                heldLock.doubt(acquisition.id.owner(), "reported as uncertain before the grant's answer arrived");
            }
        } finally {
            end();
        }
    }

    private void busy(Attempt asked, AcquireResult.Busy busy) {
        if (!isAwaited(asked)) {
            return;
        }
        try {
            listen(asked, busy);
        } catch (Throwable e) {
            stop();
            throw e;
        }
    }

    private void listen(Attempt asked, AcquireResult.Busy busy) {
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

    /** Handles a thread that does not return from its attempt. */
    void stuck(Attempt asked, Waiter asking, Runnable attempt, LockException failure) {
        if (asking.thread() != null) {
            callbacks.skipStuckWaiter(asking, attempt, failure);
        }
        failed(asked, failure, true);
    }

    void failed(Attempt asked, LockException failure, boolean wasSent) {
        if (isAwaited(asked)) {
            fail(failure, wasSent);
        }
    }

    private void fail(LockException failure, boolean wasSent) {
        try {
            retryOrGiveUp(failure, wasSent);
        } catch (Throwable e) {
            stop();
            throw e;
        }
    }

    /**
     * Fails the waiters that do not retry, and schedules the next attempt for the others. The acquisition is replaced if the
     * store was not asked to let it wait: the store's reaction to the end of the attempt, such as leaving a queue, may still
     * arrive. An attempt that was cut off by its waiter's deadline shows nothing about the store: a waiter for one answer gets
     * the next attempt.
     */
    private void retryOrGiveUp(LockException failure, boolean wasSent) {
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
     * Returns why a waiter whose deadline has passed could not be served. Null means busy: the store answered while the waiter
     * waited and no longer ago than a request may take, or no request was sent since, which is usual while the waiter waits for a
     * signal.
     */
    @Nullable LockException unavailability(Waiter waiter) {
        long now = engine.nanos();
        long waitedNanos = now - waiter.sinceNanos;
        long recentNanos = Math.min(waitedNanos, engine.requestTimeoutNanos());
        return entry.availability()
                .unavailability(now - recentNanos, lastFailure, isLeftOpen(waiter, now, recentNanos), waitedNanos);
    }

    /**
     * Whether an attempt has been in flight for that long; half as long for the first attempt, as its waiter may have waited for
     * a release before. If an attempt was in flight when the waiter was queued, and the store has not answered since, the time
     * does not matter: the waiter's thread may have been delayed before it was queued.
     */
    private boolean isLeftOpen(Waiter waiter, long nowNanos, long silentNanos) {
        return state == State.ASKING
                && (nowNanos - latest().begunNanos >= (latest().isFirst() ? silentNanos / 2 : silentNanos)
                        || waiter.joinedDuringAttempt && !entry.availability().wasAnsweredSince(waiter.sinceNanos));
    }

    /** Whether an attempt is in flight, and none has failed before it. */
    boolean isFirstAnswerPending() {
        return state == State.ASKING && lastFailure == null;
    }

    /**
     * Handles a waiter that has left the queue.
     *
     * @param undoneAttempt whether its thread was to make an attempt and had not begun it
     */
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
            ask(); // the waiter's deadline may have cut off the attempt that the next waiter depended on
        }
    }

    /** Takes back an attempt that was not sent. */
    private void undo(Attempt undone) {
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

    /**
     * Gives up the acquisition, as there are no more waiters.
     *
     * @param undoneAttempt whether a waiter's thread was to make an attempt and had not begun it
     */
    void giveUp(boolean undoneAttempt) {
        if (undoneAttempt) {
            undo(latest());
        }
        giveUp();
    }

    /** Gives up the acquisition, and abandons it if the server may have an entry of it. */
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
