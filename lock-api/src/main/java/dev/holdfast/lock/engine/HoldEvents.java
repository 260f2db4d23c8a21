package dev.holdfast.lock.engine;

import dev.holdfast.lock.LossReason;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/** Tells what becomes of the holds of one lock entry: to the listeners, the log, and whoever waits for a loss. Within transitions. */
final class HoldEvents {
    private final EntryContext entry;
    private final Events events;

    HoldEvents(EntryContext entry) {
        this.entry = entry;
        this.events = entry.engine().events();
    }

    void acquired(Hold hold, long waitedNanos, boolean handedOff) {
        Duration waited = Duration.ofNanos(waitedNanos);
        events.tell(listener -> listener.acquired(entry.name(), hold.token, waited, handedOff));
    }

    void renewed(Hold hold) {
        events.tell(listener -> listener.renewed(entry.name(), hold.token));
    }

    void suspect(Hold hold, String detail) {
        events.tell(listener -> listener.suspect(entry.name(), hold.token, detail));
    }

    void released(Hold hold, long nowNanos) {
        Duration held = Duration.ofNanos(nowNanos - hold.acquiredNanos);
        events.tell(listener -> listener.released(entry.name(), hold.token, held));
    }

    /** Makes the hold a lost one. */
    void lost(Hold hold, LossReason reason, String detail) {
        EngineContext engine = entry.engine();
        CompletableFuture<LossReason> told = hold.lose(reason, detail);
        if (told != null) {
            entry.mutex().afterUnlock(() -> engine.runtime().callbacks().execute(() -> told.complete(reason)));
        }
        if (reason != LossReason.CLIENT_CLOSED) {
            entry.mutex()
                    .afterUnlock(() -> engine.losses()
                            .warn(entry.name(), hold.lostException().getMessage()));
        }
        Duration held = Duration.ofNanos(engine.nanos() - hold.acquiredNanos);
        events.tell(listener -> listener.lost(entry.name(), hold.token, held, reason));
    }
}
