package dev.holdfast.lock.engine;

import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.Ticket;
import org.jspecify.annotations.Nullable;

/**
 * When a {@link PendingAcquisition} asks again: at the store's signal on the latest ticket, and at the next poll, or some time after
 * a failure. Within the entry's {@link StateMutex}.
 */
final class AttemptSchedule {
    private final EntryContext entry;
    private final EngineContext engine;
    private final Runnable onSignal;
    private final Runnable onTime;
    private final BackOff backOff;
    private Subscription timer = Subscription.NONE;
    private @Nullable Ticket listeningTo;
    private Subscription subscription = Subscription.NONE;

    /**
     * Creates one that does nothing yet.
     *
     * @param onSignal a transition, at a signal
     * @param onTime a transition, when it is time for a poll or a retry
     */
    AttemptSchedule(EntryContext entry, Runnable onSignal, Runnable onTime) {
        this.entry = entry;
        this.engine = entry.engine();
        this.onSignal = onSignal;
        this.onTime = onTime;
        this.backOff = new BackOff(engine.info());
    }

    /** An attempt is made now: the time for it need not come any more. */
    void attemptBegins() {
        timer.close();
    }

    /** The store has answered. */
    void succeeded() {
        backOff.succeeded();
    }

    /** The store has not answered; returns for how long there have been failures only. */
    long failed() {
        return backOff.failed(engine.nanos());
    }

    /** A signal has come: polls are frequent again. */
    void signalled() {
        backOff.reset();
    }

    /** The next attempt is made at a signal, or at the next poll. */
    void listen(AcquireResult.Busy busy) {
        listenTo(busy.ticket());
        long delay = backOff.pollDelayNanos(engine.nanos(), busy.remainingMillis(), engine.random());
        timer = engine.timer().after(delay, onTime);
    }

    /** The next attempt is made after a pause. */
    void retry() {
        timer = engine.timer().after(backOff.retryDelayNanos(engine.random()), onTime);
    }

    private void listenTo(@Nullable Ticket ticket) {
        if (ticket != null && !ticket.equals(listeningTo)) {
            listeningTo = ticket;
            entry.mutex().afterUnlock(() -> subscribe(ticket));
        }
    }

    /** Without the mutex. */
    private void subscribe(Ticket ticket) {
        Subscription begun = engine.backend().subscribe(ticket, onSignal);
        boolean wanted = entry.mutex().test(() -> {
            if (!ticket.equals(listeningTo)) {
                return false;
            }
            entry.mutex().afterUnlock(subscription::close);
            subscription = begun;
            return true;
        });
        if (!wanted) {
            begun.close();
        }
    }

    /** No further attempts. */
    void close() {
        timer.close();
        listeningTo = null;
        if (subscription != Subscription.NONE) {
            entry.mutex().afterUnlock(subscription::close);
        }
    }
}
