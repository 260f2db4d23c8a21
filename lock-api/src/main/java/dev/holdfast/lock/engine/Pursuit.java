package dev.holdfast.lock.engine;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.Acquisition;
import dev.holdfast.lock.spi.Attempt;
import dev.holdfast.lock.spi.AttemptRequest;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.Ticket;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * One acquisition under way, for whichever local waiter is first: attempts, the store's signal, polls and retries, until
 * it is granted or given up. All attempts carry the same owner id, so an attempt whose answer was lost is resolved by the
 * next one. Everything but {@link #send} and {@link #listen} runs within the contender's {@link Transitions}.
 */
final class Pursuit {
    private final Contender contender;
    private final EngineClient client;
    private final Transitions transitions;
    private final WaitQueue queue;
    private final Acquisition acquisition;
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
    private Requests.@Nullable Request offered;

    private @Nullable Ticket ticket;
    private @Nullable Ticket listeningTo;
    private Subscription signal = Subscription.NONE;
    private Subscription timer = Subscription.NONE;
    private @Nullable LockException lastFailure;

    Pursuit(Contender contender, LockOptions options) {
        this.contender = contender;
        this.client = contender.client();
        this.transitions = contender.transitions();
        this.queue = contender.queue();
        this.acquisition = new Acquisition(contender.name(), OwnerId.random());
        this.leaseMillis = options.lease().toMillis();
        this.fair = options.fair();
        this.backOff = new BackOff(client.info());
    }

    Acquisition acquisition() {
        return acquisition;
    }

    /** Sends the next attempt, on the first waiter's own thread if the backend blocks and that waiter has one. */
    void attempt() {
        Waiter head = queue.head();
        if (head == null) {
            throw new IllegalStateException("lock '" + contender.name() + "': attempt without a waiter");
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
            long oneAnswer = contender.wasAnsweredSince(head.sinceNanos) ? 0 : timeout - (begunNanos - head.sinceNanos);
            timeout = Math.max(1_000_000, Math.min(timeout, Math.max(remaining, oneAnswer)));
        }
        LockException overload = uncertain || queued ? null : client.leftovers().overload(contender.name());
        int thisRound = round;
        if (overload != null) {
            transitions.effect(() -> transitions.run(() -> failed(thisRound, overload, false)));
            return;
        }
        AttemptRequest request = request(wait, timeout);
        if (!blocking) {
            transitions.effect(sender(request, timeout));
        } else if (head.thread() == null) {
            offer(head, request, timeout);
        } else {
            // It may never be run, if that thread leaves: it is under way once it has begun.
            head.offer(new BlockingAttempt(head, request, timeout, () -> {}));
            if (head.thread() != Thread.currentThread()) {
                transitions.effect(head::wakeUp);
            }
        }
    }

    /**
     * For a thread of the client's, which may be long in coming: then the attempt has failed, and nothing was sent.
     */
    private void offer(Waiter head, AttemptRequest request, long timeoutNanos) {
        int thisRound = round;
        Requests.Request untilBegun = client.requests()
                .begin(timeoutNanos, () -> notBegun(thisRound, head, Failures.stalled(contender.name(), timeoutNanos)));
        offered = untilBegun;
        head.offer(new BlockingAttempt(head, request, timeoutNanos, untilBegun::end));
        transitions.effect(() -> {
            try {
                client.runtime().io().execute(head::runTask);
            } catch (Throwable e) {
                untilBegun.end();
                notBegun(thisRound, head, Failures.noThread(contender.name(), e));
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
        private final AttemptRequest request;
        private final long limitNanos;
        private final Runnable begun;

        /** Creates it for the present round; {@code begun} runs when it is under way. */
        BlockingAttempt(Waiter asking, AttemptRequest request, long timeoutNanos, Runnable begun) {
            this.begun = begun;
            this.asking = asking;
            this.request = request;
            this.limitNanos = timeoutNanos + client.requestTimeoutNanos() / 4;
        }

        @Override
        public void run() {
            Requests.Request underWay = client.requests().begin(limitNanos, this::stuck);
            begun.run();
            send(itsRound, request, underWay);
        }

        private void stuck() {
            LockException failure = Failures.stalled(contender.name(), limitNanos);
            transitions.run(() -> {
                if (asking.thread() != null) {
                    contender.passOver(asking, this, failure);
                }
                failed(itsRound, failure, true);
            });
        }
    }

    /** A transition: an attempt that was offered to a thread of the client's has failed, unless it has begun. */
    private void notBegun(int thisRound, Waiter head, LockException failure) {
        transitions.run(() -> {
            if (isAwaited(thisRound) && head.takeTask() != null) {
                failed(thisRound, failure, false);
            }
        });
    }

    private AttemptRequest request(long waitNanos, long timeoutNanos) {
        return new AttemptRequest(
                acquisition,
                leaseMillis,
                Durations.ceilMillis(waitNanos),
                fair,
                ticket,
                Durations.ceilMillis(timeoutNanos),
                client.identity());
    }

    private Runnable sender(AttemptRequest request, long timeoutNanos) {
        int thisRound = round;
        Requests.Request underWay = client.requests()
                .begin(
                        timeoutNanos,
                        () -> transitions.run(() -> {
                            failed(thisRound, Failures.stalled(contender.name(), timeoutNanos), true);
                        }));
        return () -> send(thisRound, request, underWay);
    }

    /**
     * This thread may have stood still on its way here, for so long that the pursuit has ended: then there is nothing to
     * send any more. It may even stand still between that look and the send: then the attempt went out behind the
     * abandonment, which covers earlier attempts only, and the acquisition is abandoned again.
     */
    private void send(int thisRound, AttemptRequest request, Requests.Request underWay) {
        if (over) {
            underWay.end();
            return;
        }
        Sent sent = Sent.now(client.ticker());
        CompletionStage<Attempt> stage = Failures.call(() -> client.backend().attempt(request));
        if (over) {
            transitions.run(this::abandonUnlessHeld);
        }
        stage.whenComplete((answer, error) -> {
            try {
                transitions.run(() -> answered(thisRound, sent, answer, error));
            } finally {
                underWay.end();
            }
        });
    }

    private void answered(int thisRound, Sent sent, @Nullable Attempt answer, @Nullable Throwable error) {
        if (!contender.isCurrent(this)) {
            answeredLate(answer);
        } else if (answer instanceof Attempt.Granted granted) {
            granted(sent, granted.grant());
        } else if (answer instanceof Attempt.Busy busy) {
            busy(thisRound, busy);
        } else {
            failed(thisRound, Failures.of(contender.name(), error), true);
        }
    }

    /** The pursuit has ended: whatever the answer says is on the server is removed, unless it is what is held. */
    private void answeredLate(@Nullable Attempt answer) {
        boolean onServer =
                answer instanceof Attempt.Granted || answer instanceof Attempt.Busy busy && busy.ticket() != null;
        if (onServer) {
            abandonUnlessHeld();
        }
    }

    /** What is held by now was uncertain, as it took a second attempt: it is abandoned behind its release. */
    private void abandonUnlessHeld() {
        if (!contender.holding().holds(acquisition)) {
            contender.abandon(acquisition, leaseMillis);
        }
    }

    /** An answer to an earlier attempt counts if it is a grant: the server does not take that back. */
    private void granted(Sent sent, Grant grant) {
        inFlight = false;
        Waiter head = queue.head();
        if (head == null || lostEarly || !serves(head.options)) {
            end();
            contender.abandon(acquisition, leaseMillis);
            contender.kick();
            return;
        }
        long now = client.ticker().nanos();
        Tenure tenure = new Tenure(contender.holding(), grant, head.options, now, sent, uncertain);
        if (tenure.remainingNanos(client.ticker()) > 0) {
            end();
            contender.noteAnswer();
            contender.holding().begin(tenure, head);
            tellBusy();
            if (doubtedEarly) {
                contender.holding().doubt(acquisition.owner(), "doubted before the grant was seen");
            }
        } else {
            fail(
                    new LockUnavailableException("lock '" + contender.name() + "': the store took "
                            + Durations.text(now - sent.nanos()) + " to grant a lease of " + grant.leaseMillis()
                            + " ms, which has passed meanwhile; lengthen the lease"),
                    true);
        }
    }

    /** Whether an answer is the one that is waited for. */
    private boolean isAwaited(int thisRound) {
        return contender.isCurrent(this) && thisRound == round && inFlight;
    }

    private void busy(int thisRound, Attempt.Busy busy) {
        if (!isAwaited(thisRound)) {
            return;
        }
        inFlight = false;
        lastFailure = null;
        contender.noteAnswer();
        backOff.succeeded();
        ticket = busy.ticket();
        queued |= ticket != null;
        tellBusy();
        Waiter head = queue.head();
        if (head == null || !serves(head.options)) {
            giveUp();
            contender.kick();
        } else if (signalledInFlight || !askedToWait) {
            attempt();
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
                contender.decide(waiter, Waiter.State.BUSY);
            }
            waiter = next;
        }
    }

    private void awaitSignal() {
        Ticket place = ticket;
        if (place != null && !place.equals(listeningTo)) {
            listeningTo = place;
            transitions.effect(() -> listen(place));
        }
    }

    private void listen(Ticket place) {
        Subscription subscription = client.backend().signal(place, this::signalled);
        boolean wanted = transitions.test(() -> {
            if (!contender.isCurrent(this) || !place.equals(listeningTo)) {
                return false;
            }
            transitions.effect(signal::close);
            signal = subscription;
            return true;
        });
        if (!wanted) {
            subscription.close();
        }
    }

    private void signalled() {
        transitions.run(() -> {
            if (contender.isCurrent(this)) {
                backOff.reset();
                if (inFlight) {
                    signalledInFlight = true;
                } else {
                    attempt();
                }
            }
        });
    }

    private void poll() {
        transitions.run(() -> {
            if (contender.isCurrent(this) && !inFlight) {
                attempt();
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
                contender.fail(waiter, failure);
            }
            waiter = next;
        }
        Waiter head = queue.head();
        if (head == null || !mayPass || !askedToWait || !serves(head.options)) {
            giveUp();
            if (onlyRefused) {
                transitions.effect(client.leftovers().abandonRefused(acquisition, leaseMillis));
            }
            contender.kick();
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
        if (contender.wasAnsweredSince(now - recentNanos) || lastFailure == null && !leftOpen) {
            return null;
        }
        return lastFailure == null ? Failures.stalled(contender.name(), now - waiter.sinceNanos) : lastFailure;
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
        Requests.Request undone = offered;
        if (undoneAttempt && undone != null) {
            offered = null;
            transitions.effect(undone::end);
        }
        Waiter head = queue.head();
        if (head == null || !serves(head.options)) {
            giveUp();
            contender.kick();
        } else if (undoneAttempt) {
            attempt();
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
            contender.abandon(acquisition, leaseMillis);
        }
    }

    private void end() {
        over = true;
        contender.endPursuit();
        timer.close();
        listeningTo = null;
        transitions.effect(signal::close);
    }
}
