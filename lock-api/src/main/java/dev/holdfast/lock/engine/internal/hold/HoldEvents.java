package dev.holdfast.lock.engine.internal.hold;

import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.engine.internal.runtime.EngineRuntime;
import dev.holdfast.lock.engine.internal.runtime.Events;
import dev.holdfast.lock.engine.internal.runtime.StateMutex;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/**
 * Reports the events of holds to the listeners, the log and the futures of losses. Called within transitions.
 *
 * @param events calls the listeners
 * @param losses logs losses
 * @param runtime clocks and threads
 */
public record HoldEvents(Events events, LossWarnings losses, EngineRuntime runtime) {

    public void acquired(Hold hold, long waitedNanos, boolean handedOff) {
        if (events.hasListeners()) {
            Duration waited = Duration.ofNanos(waitedNanos);
            events.publish(listener -> listener.acquired(hold.name(), hold.token, waited, handedOff));
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
            Duration held = Duration.ofNanos(nowNanos - hold.acquiredNanos);
            events.publish(listener -> listener.released(hold.name(), hold.token, held));
        }
    }

    /** Marks a hold as lost and reports it; the mutex is that of its entry. */
    public void lost(StateMutex mutex, Hold hold, LossReason reason, String detail) {
        CompletableFuture<LossReason> lossFuture = hold.lose(reason, detail);
        if (lossFuture != null) {
            mutex.afterUnlock(() -> runtime.losses().execute(() -> lossFuture.complete(reason)));
        }
        if (reason != LossReason.CLIENT_CLOSED) {
            mutex.afterUnlock(
                    () -> losses.warn(hold.name(), hold.lostException().getMessage()));
        }
        Duration held = Duration.ofNanos(runtime.ticker().nanos() - hold.acquiredNanos);
        events.publish(listener -> listener.lost(hold.name(), hold.token, held, reason));
    }
}
