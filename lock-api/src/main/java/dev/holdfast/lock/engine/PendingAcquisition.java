package dev.holdfast.lock.engine;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.Ticket;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * One acquisition under way, for whichever local waiter is first: attempts, the store's signal, polls and retries, until
 * it is granted or given up. All attempts carry the same owner id, so an attempt whose answer was lost is resolved by the
 * next one. Everything but {@link #send} and {@link #listen} runs within the entry's {@link StateMutex}.
 */
final class PendingAcquisition {
    private final LockEntry entry;
    private final EngineClient client;
    private final StateMutex mutex;
    private final WaitQueue queue;
    private final AcquisitionId acquisition;
    private final long leaseMillis;
    private final boolean fair;
    private final BackOff backOff;

    /** Counts attempts, so that a late answer is told from the latest. */
    private int round;

    private boolean inFlight;
    /** When the latest attempt was begun. */
    private long begunNanos;
    /** A signal came while an attempt was out: its answer may be older than the signal. */
    private boolean signalledInFlight;
    /** The attempt that is out asked to be queued. */
    private boolean askedToWait;
    /** The store has given a place in its queue at least once; later answers need not repeat it. */
    private boolean queued;
    /** An attempt failed, so the acquisition may be on the server without our knowledge. */
    private boolean uncertain;
    /** The backend reported the grant's end before its answer was seen. */
    private boolean lostEarly;
    /** The backend doubted the grant before its answer was seen. */
    private boolean doubtedEarly;
    /** Granted or given up; read by whoever is about to send an attempt, or has just sent one. */
    private volatile boolean over;

    /** Under way until the attempt that was last offered to a thread of the client's has begun. */
    private InFlightRequests.@Nullable Request offered;

    private @Nullable Ticket ticket;
    private @Nullable Ticket listeningTo;
    private Subscription signal = Subscription.NONE;
    private Subscription timer = Subscription.NONE;
    private @Nullable LockException lastFailure;

    PendingAcquisition(LockEntry entry, LockOptions options) {
        this.entry = entry;
        this.client = entry.client();
        this.mutex = entry.mutex();
        this.queue = entry.queue();
        this.acquisition = new AcquisitionId(entry.name(), OwnerId.random());
        this.leaseMillis = options.lease().toMillis();
        this.fair = options.fair();
        this.backOff = new BackOff(client.info());
    }

    AcquisitionId acquisition() {
        return acquisition;
    }

    /** Sends the next attempt, on the first waiter's own thread if the backend blocks and that waiter has one. */
    void ask() {
        Waiter head = queue.head();
        if (head == null) {
            throw new IllegalStateException("lock '" + entry.name() + "': attempt without a waiter");
        }
        timer.close();
        inFlight = true;
        signalledInFlight = false;
        round++;
        begunNanos = client.ticker().nanos();
        long remaining = head.remainingNanos(begunNanos);
        long wait = head.after != null ? Waiter.FOREVER : remaining;
        if (wait == 0 && (queued || !head.triesOnce())) {
            wait = 1; // its deadline has just passed; the place in the queue, if any, is given up by abandon alone
        }
        askedToWait = wait > 0;
        boolean blocking = client.info().blocking();
        long timeout = client.requestTimeoutNanos();
        if (blocking && !head.triesOnce()) {
            long oneAnswer = entry.wasAnsweredSince(head.sinceNanos) ? 0 : timeout - (begunNanos - head.sinceNanos);
            timeout = Math.max(1_000_000, Math.min(timeout, Math.max(remaining, oneAnswer)));
        }
        LockException overload = uncertain || queued ? null : client.releaser().overload(entry.name());
        int thisRound = round;
        if (overload != null) {
            mutex.afterUnlock(() -> mutex.run(() -> failed(thisRound, overload, false)));
            return;
        }
        AcquireRequest request = request(wait, timeout);
        if (!blocking) {
            mutex.afterUnlock(sender(request, timeout));
        } else if (head.thread() == null) {
            offer(head, request, timeout);
        } else {
            // It may never be run, if that thread leaves: it is under way once it has begun.
            head.offer(new BlockingAttempt(head, request, timeout, () -> {}));
            if (head.thread() != Thread.currentThread()) {
                mutex.afterUnlock(head::wakeUp);
            }
        }
    }

    /**
     * For a thread of the client's, which may be long in coming: then the attempt has failed, and nothing was sent.
     */
    private void offer(Waiter head, AcquireRequest request, long timeoutNanos) {
        int thisRound = round;
        InFlightRequests.Request untilBegun = client.requests()
                .begin(timeoutNanos, () -> notBegun(thisRound, head, Failures.stalled(entry.name(), timeoutNanos)));
        offered = untilBegun;
        head.offer(new BlockingAttempt(head, request, timeoutNanos, untilBegun::end));
        mutex.afterUnlock(() -> {
            try {
                client.runtime().io().execute(head::runTask);
            } catch (Throwable e) {
                untilBegun.end();
                notBegun(thisRound, head, Failures.noThread(entry.name(), e));
            }
        });
    }

    /**
     * An attempt of a blocking backend, on the thread of whoever asks or one of the client's. The backend sees to it that
     * it ends in time. Should its driver not return all the same, the attempt counts as unanswered somewhat later.
     */
    private final class BlockingAttempt implements Runnable {
        private final int itsRound = round;
        private final Waiter asking;
        private final AcquireRequest request;
        private final long limitNanos;
        private final Runnable begun;

        /** Creates it for the present round; {@code begun} runs when it is under way. */
        BlockingAttempt(Waiter asking, AcquireRequest request, long timeoutNanos, Runnable begun) {
            this.begun = begun;
            this.asking = asking;
            this.request = request;
            this.limitNanos = timeoutNanos + client.requestTimeoutNanos() / 4;
        }

        @Override
        public void run() {
            InFlightRequests.Request underWay = client.requests().begin(limitNanos, this::stuck);
            begun.run();
            send(itsRound, request, underWay);
        }

        private void stuck() {
            LockException failure = Failures.stalled(entry.name(), limitNanos);
            mutex.run(() -> {
                if (asking.thread() != null) {
                    entry.passOver(asking, this, failure);
                }
                failed(itsRound, failure, true);
            });
        }
    }

    /** A transition: an attempt that was offered to a thread of the client's has failed, unless it has begun. */
    private void notBegun(int thisRound, Waiter head, LockException failure) {
        mutex.run(() -> {
            if (isAwaited(thisRound) && head.takeTask() != null) {
                failed(thisRound, failure, false);
            }
        });
    }

    private AcquireRequest request(long waitNanos, long timeoutNanos) {
        return new AcquireRequest(
                acquisition,
                leaseMillis,
                Durations.ceilMillis(waitNanos),
                fair,
                ticket,
                Durations.ceilMillis(timeoutNanos),
                client.identity());
    }

    private Runnable sender(AcquireRequest request, long timeoutNanos) {
        int thisRound = round;
        InFlightRequests.Request underWay = client.requests()
                .begin(
                        timeoutNanos,
                        () -> mutex.run(() -> {
                            failed(thisRound, Failures.stalled(entry.name(), timeoutNanos), true);
                        }));
        return () -> send(thisRound, request, underWay);
    }

    /**
     * This thread may have stood still on its way here, for so long that the pending acquisition has ended: then there is nothing to
     * send any more. It may even stand still between that look and the send: then the attempt went out behind the
     * abandonment, which covers earlier attempts only, and the acquisition is abandoned again.
     */
    private void send(int thisRound, AcquireRequest request, InFlightRequests.Request underWay) {
        if (over) {
            underWay.end();
            return;
        }
        RequestTime sent = RequestTime.now(client.ticker());
        CompletionStage<AcquireResult> stage =
                Failures.call(() -> client.backend().tryAcquire(request));
        if (over) {
            mutex.run(this::abandonUnlessHeld);
        }
        stage.whenComplete((answer, error) -> {
            try {
                mutex.run(() -> answered(thisRound, sent, answer, error));
            } finally {
                underWay.end();
            }
        });
    }

    private void answered(int thisRound, RequestTime sent, @Nullable AcquireResult answer, @Nullable Throwable error) {
        if (!entry.isCurrent(this)) {
            answeredLate(answer);
        } else if (answer instanceof AcquireResult.Granted granted) {
            granted(sent, granted.grant());
        } else if (answer instanceof AcquireResult.Busy busy) {
            busy(thisRound, busy);
        } else {
            failed(thisRound, Failures.of(entry.name(), error), true);
        }
    }

    /** The pending acquisition has ended: whatever the answer says is on the server is removed, unless it is what is held. */
    private void answeredLate(@Nullable AcquireResult answer) {
        boolean onServer = answer instanceof AcquireResult.Granted
                || answer instanceof AcquireResult.Busy busy && busy.ticket() != null;
        if (onServer) {
            abandonUnlessHeld();
        }
    }

    /** What is held by now was uncertain, as it took a second attempt: it is abandoned behind its release. */
    private void abandonUnlessHeld() {
        if (!entry.heldLock().holds(acquisition)) {
            entry.abandon(acquisition, leaseMillis);
        }
    }

    /** An answer to an earlier attempt counts if it is a grant: the server does not take that back. */
    private void granted(RequestTime sent, Grant grant) {
        inFlight = false;
        Waiter head = queue.head();
        if (head == null || lostEarly || !serves(head.options)) {
            end();
            entry.abandon(acquisition, leaseMillis);
            entry.kick();
            return;
        }
        long now = client.ticker().nanos();
        HeldGrant heldGrant = new HeldGrant(entry.heldLock(), grant, head.options, now, sent, uncertain);
        if (heldGrant.remainingNanos(client.ticker()) > 0) {
            end();
            entry.noteAnswer();
            entry.heldLock().begin(heldGrant, head);
            tellBusy();
            if (doubtedEarly) {
                entry.heldLock().doubt(acquisition.owner(), "doubted before the grant was seen");
            }
        } else {
            fail(
                    new LockUnavailableException("lock '" + entry.name() + "': the store took "
                            + Durations.text(now - sent.nanos()) + " to grant a lease of " + grant.leaseMillis()
                            + " ms, which has passed meanwhile; lengthen the lease"),
                    true);
        }
    }

    /** Whether an answer is the one that is waited for. */
    private boolean isAwaited(int thisRound) {
        return entry.isCurrent(this) && thisRound == round && inFlight;
    }

    private void busy(int thisRound, AcquireResult.Busy busy) {
        if (!isAwaited(thisRound)) {
            return;
        }
        inFlight = false;
        lastFailure = null;
        entry.noteAnswer();
        backOff.succeeded();
        ticket = busy.ticket();
        queued |= ticket != null;
        tellBusy();
        Waiter head = queue.head();
        if (head == null || !serves(head.options)) {
            giveUp();
            entry.kick();
        } else if (signalledInFlight || !askedToWait) {
            ask();
        } else {
            awaitSignal();
            long delay = backOff.pollDelayNanos(client.ticker().nanos(), busy.remainingMillis(), client.random());
            timer = client.runtime().timer().after(delay, this::poll);
        }
    }

    /** The answer was for somebody else: those who do not wait for another one are done. */
    private void tellBusy() {
        for (Waiter waiter = queue.head(); waiter != null; ) {
            Waiter next = waiter.after;
            if (waiter.takesNextAnswer()) {
                queue.remove(waiter);
                entry.decide(waiter, Waiter.State.BUSY);
            }
            waiter = next;
        }
    }

    private void awaitSignal() {
        Ticket place = ticket;
        if (place != null && !place.equals(listeningTo)) {
            listeningTo = place;
            mutex.afterUnlock(() -> listen(place));
        }
    }

    private void listen(Ticket place) {
        Subscription subscription = client.backend().subscribe(place, this::signalled);
        boolean wanted = mutex.test(() -> {
            if (!entry.isCurrent(this) || !place.equals(listeningTo)) {
                return false;
            }
            mutex.afterUnlock(signal::close);
            signal = subscription;
            return true;
        });
        if (!wanted) {
            subscription.close();
        }
    }

    private void signalled() {
        mutex.run(() -> {
            if (entry.isCurrent(this)) {
                backOff.reset();
                if (inFlight) {
                    signalledInFlight = true;
                } else {
                    ask();
                }
            }
        });
    }

    private void poll() {
        mutex.run(() -> {
            if (entry.isCurrent(this) && !inFlight) {
                ask();
            }
        });
    }

    private void failed(int thisRound, LockException failure, boolean wasSent) {
        if (isAwaited(thisRound)) {
            inFlight = false;
            fail(failure, wasSent);
        }
    }

    /**
     * Tells the waiters who do not wait for better times; tries again for the others. Not with the same acquisition if the
     * store was not asked to let it wait: what it did to end it, such as leaving a queue, may still arrive.
     */
    private void fail(LockException failure, boolean wasSent) {
        boolean refused = failure instanceof LockConfigurationException;
        boolean onlyRefused = refused && !uncertain && !queued;
        uncertain |= wasSent && !refused;
        lastFailure = failure;
        boolean mayPass = failure instanceof LockUnavailableException;
        long failingNanos = backOff.failed(client.ticker().nanos());
        Waiter first = queue.head();
        for (Waiter waiter = first; waiter != null; ) {
            Waiter next = waiter.after;
            if (waiter == first && !mayPass || givesUp(waiter, failingNanos)) {
                queue.remove(waiter);
                entry.fail(waiter, failure);
            }
            waiter = next;
        }
        Waiter head = queue.head();
        if (head == null || !mayPass || !askedToWait || !serves(head.options)) {
            giveUp();
            if (onlyRefused) {
                mutex.afterUnlock(client.releaser().abandonRefused(acquisition, leaseMillis));
            }
            entry.kick();
        } else {
            timer = client.runtime().timer().after(backOff.retryDelayNanos(client.random()), this::poll);
        }
    }

    private boolean givesUp(Waiter waiter, long failingNanos) {
        long patience = client.unavailableTimeoutNanos();
        long waitedNanos = client.ticker().nanos() - waiter.sinceNanos;
        return waiter.takesNextAnswer() || waiter.waitsForever() && Math.min(failingNanos, waitedNanos) >= patience;
    }

    /**
     * Why a waiter whose deadline has passed could not be served: null, that is busy, if the store answered while it
     * waited and not longer ago than a request may take, or if it answered busy and was not asked again since, as is usual
     * while a signal is waited for; otherwise the failure.
     */
    @Nullable LockException unavailability(Waiter waiter) {
        long now = client.ticker().nanos();
        long recentNanos = Math.min(now - waiter.sinceNanos, client.requestTimeoutNanos());
        boolean leftOpen = inFlight && (round == 1 || now - begunNanos >= recentNanos);
        if (entry.wasAnsweredSince(now - recentNanos) || lastFailure == null && !leftOpen) {
            return null;
        }
        return lastFailure == null ? Failures.stalled(entry.name(), now - waiter.sinceNanos) : lastFailure;
    }

    /** Whether an attempt is out, and nothing has failed before it. */
    boolean isFirstAnswerOut() {
        return inFlight && lastFailure == null;
    }

    /** A waiter has left the queue; an attempt that it was to make has not begun. */
    void waiterLeft(boolean undoneAttempt) {
        if (inFlight && !undoneAttempt) {
            return;
        }
        inFlight = false;
        InFlightRequests.Request undone = offered;
        if (undoneAttempt && undone != null) {
            offered = null;
            mutex.afterUnlock(undone::end);
        }
        Waiter head = queue.head();
        if (head == null || !serves(head.options)) {
            giveUp();
            entry.kick();
        } else if (undoneAttempt) {
            ask();
        }
    }

    void noteLoss() {
        lostEarly = true;
    }

    void noteDoubt() {
        doubtedEarly = true;
    }

    /** Whether a grant to this acquisition is what a waiter with those options wants. */
    private boolean serves(LockOptions options) {
        return leaseMillis == options.lease().toMillis() && fair == options.fair();
    }

    /** Ends it, and removes whatever it has on the server. */
    void giveUp() {
        boolean mayBeOnServer = queued || uncertain || inFlight;
        end();
        if (mayBeOnServer) {
            entry.abandon(acquisition, leaseMillis);
        }
    }

    private void end() {
        over = true;
        entry.endPending();
        timer.close();
        listeningTo = null;
        mutex.afterUnlock(signal::close);
    }
}
