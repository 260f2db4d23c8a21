package dev.holdfast.lock.engine.internal.hold;

import dev.holdfast.lock.AttemptOutcome;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.engine.internal.runtime.EngineRuntime;
import dev.holdfast.lock.engine.internal.runtime.Events;
import dev.holdfast.lock.engine.internal.runtime.StateMutex;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/**
 * Reports the events of holds to the listeners, the log and the futures of losses. Called within transitions, which an event
 * without memory does not end.
 *
 * @param events calls the listeners
 * @param losses logs losses
 * @param runtime clocks and threads
 */
public record HoldEvents(Events events, LossWarnings losses, EngineRuntime runtime) {

    public void acquired(Hold hold, long waitedNanos, boolean handedOff) {
        if (events.hasListeners()) {
            try {
                Duration waited = Duration.ofNanos(waitedNanos);
                events.publish(listener -> listener.acquired(hold.name(), hold.token, waited, handedOff));
            } catch (OutOfMemoryError e) {
                events.drop();
            }
        }
    }

    public void gaveUp(String name, long waitedNanos, AttemptOutcome outcome) {
        try {
            Duration waited = Duration.ofNanos(waitedNanos);
            events.publish(listener -> listener.gaveUp(name, waited, outcome));
        } catch (OutOfMemoryError e) {
            events.drop();
        }
    }

    public void renewed(Hold hold) {
        events.publish(listener -> listener.renewed(hold.name(), hold.token));
    }

    public void suspect(Hold hold, String detail) {
        events.publish(listener -> listener.suspect(hold.name(), hold.token, detail));
    }

    public void released(Hold hold, long nowNanos) {
        if (events.hasListeners()) {
            try {
                Duration held = Duration.ofNanos(nowNanos - hold.acquiredNanos);
                events.publish(listener -> listener.released(hold.name(), hold.token, held));
            } catch (OutOfMemoryError e) {
                events.drop();
            }
        }
    }

    /**
     * Marks a hold as lost and reports it; the mutex is that of its entry. Without memory for that, the hold is not lost yet, and
     * nothing is reported.
     */
    public void lost(StateMutex mutex, Hold hold, LossReason reason, String detail) {
        mutex.afterUnlock(() -> report(hold, reason));
        hold.lose(reason, detail);
        try {
            Duration held = Duration.ofNanos(runtime.ticker().nanos() - hold.acquiredNanos);
            events.publish(listener -> listener.lost(hold.name(), hold.token, held, reason));
        } catch (OutOfMemoryError e) {
            events.drop();
        }
    }

    private void report(Hold hold, LossReason reason) {
        if (hold.state != Hold.State.LOST) {
            return;
        }
        try {
            CompletableFuture<LossReason> lossFuture = hold.presentLost();
            if (lossFuture != null) {
                runtime.losses().execute(() -> lossFuture.complete(reason));
            }
        } finally {
            if (reason != LossReason.CLIENT_CLOSED) {
                losses.warn(hold.name(), hold.lostException().getMessage());
            }
        }
    }
}
