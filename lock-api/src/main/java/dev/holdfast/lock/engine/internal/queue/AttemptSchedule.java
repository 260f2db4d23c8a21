package dev.holdfast.lock.engine.internal.queue;

import dev.holdfast.lock.engine.internal.runtime.StateMutex;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.Ticket;
import org.jspecify.annotations.Nullable;

/**
 * Schedules the next attempt of a {@link PendingAcquisition}: at the store's signal on the latest ticket, at the next poll, or
 * some time after a failure. Used within the entry's {@link StateMutex}.
 */
final class AttemptSchedule {
    private final EntryContext entry;
    private final EngineContext engine;
    private final Runnable onSignal;
    private final Runnable onTime;
    private final BackOff backOff;
    /** How late a timer may be: its thread may have had no memory. */
    private static final long LATE_NANOS = 1_000_000_000;

    private Subscription timer = Subscription.NONE;
    /** When it is due, if it is set. */
    private long dueNanos;

    private @Nullable Ticket listeningTo;
    private Subscription subscription = Subscription.NONE;

    /**
     * Creates an idle schedule.
     *
     * @param onSignal a transition that runs at a signal
     * @param onTime a transition that runs when a poll or a retry is due
     */
    AttemptSchedule(EntryContext entry, Runnable onSignal, Runnable onTime) {
        this.entry = entry;
        this.engine = entry.engine();
        this.onSignal = onSignal;
        this.onTime = onTime;
        this.backOff = new BackOff(engine.info());
    }

    /** Cancels the timer, as an attempt begins now. */
    void attemptBegins() {
        timer.close();
    }

    /** Records an answer of the store. */
    void succeeded() {
        backOff.succeeded();
    }

    /** Records a failure; returns the nanoseconds for which there have been only failures. */
    long failed() {
        return backOff.failed(engine.nanos());
    }

    /** Records a signal: polls become frequent again. */
    void signalled() {
        backOff.reset();
    }

    /** Schedules the next attempt at a signal or at the next poll. */
    void listen(AcquireResult.Busy busy) {
        listenTo(busy.ticket());
        long delay = backOff.pollDelayNanos(engine.nanos(), busy.remainingMillis(), engine.random());
        setTimer(delay);
    }

    /** Schedules the next attempt after a pause. */
    void retry() {
        setTimer(backOff.retryDelayNanos(engine.random()));
    }

    private void setTimer(long delayNanos) {
        dueNanos = engine.nanos() + delayNanos;
        timer = engine.timer().after(delayNanos, onTime);
    }

    /** Whether the timer should have run long ago. */
    boolean isOverdue() {
        return engine.nanos() - dueNanos >= LATE_NANOS;
    }

    private void listenTo(@Nullable Ticket ticket) {
        if (ticket != null && !ticket.equals(listeningTo)) {
            listeningTo = ticket;
            entry.mutex().afterUnlock(() -> subscribe(ticket));
        }
    }

    /** Runs without the mutex. */
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

    /** Stops all further attempts. */
    void close() {
        timer.close();
        listeningTo = null;
        if (subscription != Subscription.NONE) {
            entry.mutex().afterUnlock(subscription::close);
        }
    }
}
