package dev.holdfast.lock.engine.internal.queue;

import dev.holdfast.lock.LockException;
import dev.holdfast.lock.engine.internal.runtime.Durations;
import dev.holdfast.lock.engine.internal.runtime.Failures;
import dev.holdfast.lock.engine.internal.runtime.InFlightRequests;
import dev.holdfast.lock.engine.internal.runtime.RequestTime;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.support.FailureTranslator;
import java.util.concurrent.CompletionStage;

/**
 * Sends the attempts of one {@link PendingAcquisition}: at once if the backend does not block, otherwise on the thread of the
 * first waiter, or on a client thread if that waiter is asynchronous. Each attempt ends with its answer, or fails when its
 * time-out has passed.
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

    /** Creates the next attempt, for the first waiter. */
    Attempt nextAttempt(Waiter head) {
        long now = engine.nanos();
        long remainingNanos = head.remainingNanos(now);
        // The waiters behind the first one inherit its acquisition, so it waits on the store without a limit.
        long waitNanos = head.after != null ? Waiter.FOREVER : remainingNanos;
        if (waitNanos == 0 && (acquisition.isQueued() || !head.triesOnce())) {
            waitNanos = 1; // the deadline has just passed; only abandon gives up the place in the queue
        }
        long timeoutNanos = engine.requestTimeoutNanos();
        boolean untilDeadline = false;
        if (engine.info().blocking() && !head.triesOnce()) {
            // A blocked thread cannot check its deadline, so the attempt must end by then. Only the first answer may
            // take as long
            // as tryLock() waits for it.
            boolean answered = entry.availability().wasAnsweredSince(head.sinceNanos);
            long oneAnswerNanos = answered ? 0 : timeoutNanos - (now - head.sinceNanos);
            untilDeadline = answered && remainingNanos < timeoutNanos;
            timeoutNanos = Math.max(1_000_000, Math.min(timeoutNanos, Math.max(remainingNanos, oneAnswerNanos)));
        }
        Attempt next = new Attempt(++attempts, now, timeoutNanos, untilDeadline);
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

    private void handedOver(Attempt attempt, Grant grant) {
        entry.mutex().submit(() -> pending.handedOver(attempt, grant));
    }

    /** Begins an attempt within a transition; the calls to the backend follow after it. */
    void begin(Attempt attempt, Waiter head) {
        if (!engine.info().blocking()) {
            entry.mutex().afterUnlock(asynchronous(attempt));
        } else if (head.thread() == null) {
            offer(attempt, head);
        } else {
            // The task may never run, if that thread leaves; it is in flight once it has begun.
            head.offer(new BlockingAttempt(attempt, head, () -> {}));
            if (head.thread() != Thread.currentThread()) {
                entry.mutex().afterUnlock(head::wakeUp);
            }
        }
    }

    private Runnable asynchronous(Attempt attempt) {
        InFlightRequests.Request inFlight = engine.requests()
                .begin(
                        attempt.timeoutNanos,
                        () -> entry.mutex()
                                .submit(() -> pending.failed(
                                        attempt, Failures.stalled(entry.name(), attempt.timeoutNanos), true)));
        return () -> send(attempt, inFlight);
    }

    /** Offers the attempt to a client thread. If none starts it in time, the attempt fails, and nothing was sent. */
    private void offer(Attempt attempt, Waiter head) {
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

    /** Fails an attempt that was offered to a client thread, unless it has begun. A transition. */
    private void notBegun(Attempt attempt, Waiter head, LockException failure) {
        entry.mutex().submit(() -> {
            if (pending.isAwaited(attempt) && head.takeTask() != null) {
                pending.failed(attempt, failure, false);
            }
        });
    }

    /**
     * An attempt of a blocking backend, on the caller's thread or a client thread. The backend should end it in time. If its
     * driver does not return, the attempt counts as unanswered a little later.
     */
    private final class BlockingAttempt implements Runnable {
        private final Attempt attempt;
        private final Waiter asking;
        private final long limitNanos;
        private final Runnable begun;

        /** Creates the task; {@code begun} runs when the attempt starts. */
        BlockingAttempt(Attempt attempt, Waiter asking, Runnable begun) {
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
            entry.mutex().submit(() -> pending.stuck(attempt, asking, this, failure));
        }
    }

    /**
     * Sends the attempt, unless the acquisition has ended because this thread was delayed. The thread may also be delayed between
     * that check and the send. The abandonment covers earlier attempts only, so the acquisition is abandoned again in that case.
     */
    private void send(Attempt attempt, InFlightRequests.Request inFlight) {
        if (pending.hasEnded()) {
            inFlight.end();
            return;
        }
        attempt.sentAt(RequestTime.now(engine.ticker()));
        CompletionStage<AcquireResult> stage =
                FailureTranslator.guard(() -> engine.backend().tryAcquire(attempt.request));
        if (pending.hasEnded()) {
            entry.mutex().submit(pending::abandonUnlessHeld);
        }
        stage.whenComplete((answer, error) -> {
            entry.mutex().submit(() -> {
                pending.answered(attempt, answer, error);
                entry.mutex().afterUnlock(inFlight::end); // if that fails, the attempt ends by its time-out
            });
        });
    }
}
