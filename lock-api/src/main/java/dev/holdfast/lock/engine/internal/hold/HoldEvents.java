package dev.holdfast.lock.engine.internal.hold;

import dev.holdfast.lock.AttemptOutcome;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.engine.internal.runtime.EngineRuntime;
import dev.holdfast.lock.engine.internal.runtime.Events;
import dev.holdfast.lock.engine.internal.runtime.Housekeeper;
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
 * @param unreported losses for whose report there was no memory
 */
public record HoldEvents(Events events, LossWarnings losses, EngineRuntime runtime, UnreportedLosses unreported) {
    private static final long RETRY_NANOS = 100_000_000;

    public HoldEvents(Events events, LossWarnings losses, EngineRuntime runtime) {
        this(events, losses, runtime, new UnreportedLosses());
    }

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
     * Marks a hold as lost and reports it; the mutex is that of its entry. Without memory for the mark, the hold is not lost yet;
     * without memory for the report, that follows later.
     */
    public void lost(StateMutex mutex, Hold hold, LossReason reason, String detail) {
        mutex.afterUnlock(() -> report(hold));
        hold.lose(reason, detail);
        try {
            Duration held = Duration.ofNanos(runtime.ticker().nanos() - hold.acquiredNanos);
            events.publish(listener -> listener.lost(hold.name(), hold.token, held, reason));
        } catch (OutOfMemoryError e) {
            events.drop();
        }
    }

    private void report(Hold hold) {
        LossReason reason = hold.lossReason();
        if (hold.state != Hold.State.LOST || reason == null) {
            return;
        }
        try {
            report(hold, reason);
        } catch (OutOfMemoryError e) {
            unreported.add(hold);
        }
    }

    private void report(Hold hold, LossReason reason) {
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

    /**
     * Reports the losses for whose report there was no memory.
     *
     * @return the nanoseconds until this must be called again
     */
    public long reportAgain() {
        for (Hold hold = unreported.takeAll(); hold != null; ) {
            Hold next = hold.nextUnreported;
            report(hold);
            hold = next;
        }
        return unreported.isEmpty() ? Housekeeper.NEVER : RETRY_NANOS;
    }
}
