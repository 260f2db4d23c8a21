package dev.holdfast.lock.engine;

import dev.holdfast.lock.LockException;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.FailureTranslator;
import dev.holdfast.lock.spi.Grant;
import java.util.concurrent.CompletionStage;

/**
 * Puts the attempts of one {@link PendingAcquisition} on their way: at once if the backend does not block, otherwise on the first
 * waiter's own thread, or on one of the client's if that waiter has none. Each attempt ends: with its answer, or as failed
 * when its time has passed.
 */
final class AttemptSender {
    private final EntryContext entry;
    private final EngineContext engine;
    private final PendingAcquisition pending;
    private final AcquisitionOnServer acquisition;
    private int attempts;

    AttemptSender(EntryContext entry, PendingAcquisition pending, AcquisitionOnServer acquisition) {
        this.entry = entry;
        this.engine = entry.engine();
        this.pending = pending;
        this.acquisition = acquisition;
    }

    /** Decides on the next attempt, for the first waiter. */
    Round nextAttempt(Waiter head) {
        long now = engine.nanos();
        long remainingNanos = head.remainingNanos(now);
        // Whoever is behind the first waiter takes its acquisition over: so that one waits without end.
        long waitNanos = head.after != null ? Waiter.FOREVER : remainingNanos;
        if (waitNanos == 0 && (acquisition.isQueued() || !head.triesOnce())) {
            waitNanos = 1; // its deadline has just passed; the place in the queue, if any, is given up by abandon alone
        }
        long timeoutNanos = engine.requestTimeoutNanos();
        boolean untilDeadline = false;
        if (engine.info().blocking() && !head.triesOnce()) {
            // The thread that makes the attempt cannot look at its deadline: the attempt has to end by then. Only a
            // first answer may take as long as that to tryLock().
            boolean answered = entry.availability().wasAnsweredSince(head.sinceNanos);
            long oneAnswerNanos = answered ? 0 : timeoutNanos - (now - head.sinceNanos);
            untilDeadline = answered && remainingNanos < timeoutNanos;
            timeoutNanos = Math.max(1_000_000, Math.min(timeoutNanos, Math.max(remainingNanos, oneAnswerNanos)));
        }
        Round next = new Round(++attempts, now, timeoutNanos, untilDeadline);
        boolean takesOver = waitNanos > 0 && engine.info().handsOver() && PendingAcquisition.mayBeHandedOver(head);
        next.request = new AcquireRequest(
                acquisition.id,
                acquisition.leaseMillis,
                Durations.ceilMillis(waitNanos),
                acquisition.fair,
                acquisition.ticket(),
                Durations.ceilMillis(timeoutNanos),
                engine.identity(),
                takesOver ? grant -> handedOver(next, grant) : null);
        return next;
    }

    private void handedOver(Round attempt, Grant grant) {
        entry.mutex().run(() -> pending.handedOver(attempt, grant));
    }

    /** Within a transition; what calls out is done after it. */
    void begin(Round attempt, Waiter head) {
        if (!engine.info().blocking()) {
            entry.mutex().afterUnlock(asynchronous(attempt));
        } else if (head.thread() == null) {
            offer(attempt, head);
        } else {
            // It may never be run, if that thread leaves: it is under way once it has begun.
            head.offer(new BlockingAttempt(attempt, head, () -> {}));
            if (head.thread() != Thread.currentThread()) {
                entry.mutex().afterUnlock(head::wakeUp);
            }
        }
    }

    private Runnable asynchronous(Round attempt) {
        InFlightRequests.Request inFlight = engine.requests()
                .begin(
                        attempt.timeoutNanos,
                        () -> entry.mutex()
                                .run(() -> pending.failed(
                                        attempt, Failures.stalled(entry.name(), attempt.timeoutNanos), true)));
        return () -> send(attempt, inFlight);
    }

    /** For a thread of the client's, which may be long in coming: then the attempt has failed, and nothing was sent. */
    private void offer(Round attempt, Waiter head) {
        InFlightRequests.Request untilBegun = engine.requests()
                .begin(
                        attempt.timeoutNanos,
                        () -> notBegun(attempt, head, Failures.stalled(entry.name(), attempt.timeoutNanos)));
        attempt.untilBegun = untilBegun;
        head.offer(new BlockingAttempt(attempt, head, untilBegun::end));
        entry.mutex().afterUnlock(() -> {
            try {
                engine.runtime().io().execute(head::runTask);
            } catch (Throwable e) {
                untilBegun.end();
                notBegun(attempt, head, Failures.noThread(entry.name(), e));
            }
        });
    }

    /** A transition: an attempt that was offered to a thread of the client's has failed, unless it has begun. */
    private void notBegun(Round attempt, Waiter head, LockException failure) {
        entry.mutex().run(() -> {
            if (pending.isAwaited(attempt) && head.takeTask() != null) {
                pending.failed(attempt, failure, false);
            }
        });
    }

    /**
     * An attempt of a blocking backend, on the thread of whoever asks or one of the client's. The backend sees to it that
     * it ends in time. Should its driver not return all the same, the attempt counts as unanswered somewhat later.
     */
    private final class BlockingAttempt implements Runnable {
        private final Round attempt;
        private final Waiter asking;
        private final long limitNanos;
        private final Runnable begun;

        /** Creates it for a round; {@code begun} runs when it is under way. */
        BlockingAttempt(Round attempt, Waiter asking, Runnable begun) {
            this.attempt = attempt;
            this.asking = asking;
            this.begun = begun;
            this.limitNanos = attempt.timeoutNanos + engine.requestTimeoutNanos() / 4;
        }

        @Override
        public void run() {
            InFlightRequests.Request inFlight = engine.requests().begin(limitNanos, this::stuck);
            begun.run();
            send(attempt, inFlight);
        }

        private void stuck() {
            LockException failure = Failures.stalled(entry.name(), limitNanos);
            entry.mutex().run(() -> pending.stuck(attempt, asking, this, failure));
        }
    }

    /**
     * This thread may have stood still on its way here, for so long that the pending acquisition has ended: then there is nothing to
     * send any more. It may even stand still between that look and the send: then the attempt went out behind the
     * abandonment, which covers earlier attempts only, and the acquisition is abandoned again.
     */
    private void send(Round attempt, InFlightRequests.Request inFlight) {
        if (pending.hasEnded()) {
            inFlight.end();
            return;
        }
        attempt.sentAt(RequestTime.now(engine.ticker()));
        CompletionStage<AcquireResult> stage =
                FailureTranslator.guard(() -> engine.backend().tryAcquire(attempt.request));
        if (pending.hasEnded()) {
            entry.mutex().run(pending::abandonUnlessHeld);
        }
        stage.whenComplete((answer, error) -> {
            try {
                entry.mutex().run(() -> pending.answered(attempt, answer, error));
            } finally {
                inFlight.end();
            }
        });
    }
}
