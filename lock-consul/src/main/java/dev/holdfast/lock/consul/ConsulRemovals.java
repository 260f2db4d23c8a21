package dev.holdfast.lock.consul;

import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.ReleaseResult;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;

/** Ends what acquisitions have on the server. Thread-safe; never blocks. */
final class ConsulRemovals {
    private static final long NONE = 0;

    private final Sessions sessions;
    private final Acquisitions acquisitions;
    private final HeldKeys held;
    private final Queue<ConsulHold> toRetry = new ConcurrentLinkedQueue<>();

    ConsulRemovals(Sessions sessions, Acquisitions acquisitions, HeldKeys held) {
        this.sessions = sessions;
        this.acquisitions = acquisitions;
        this.held = held;
    }

    /** Ends a hold: one request, if all attempts of its acquisition have been answered. */
    CompletableFuture<ReleaseResult> release(ConsulHold hold, Deadline deadline) {
        AcquisitionId id = hold.acquisition();
        Acquisitions.Traces traces = acquisitions.traces(id);
        CompletableFuture<Boolean> wasHeld = traces.unanswered().isEmpty()
                ? delete(hold, deadline)
                : endUnanswered(id, hold.index(), traces.unanswered(), deadline)
                        .thenApply(index -> index == hold.index());
        return wasHeld.thenApply(released -> {
            acquisitions.ended(id);
            return released ? ReleaseResult.RELEASED : ReleaseResult.NOT_HELD;
        });
    }

    /** Ends whatever there is; no request at all for an acquisition whose attempts were all refused. */
    CompletableFuture<Void> abandon(AcquisitionId id, Deadline deadline) {
        Acquisitions.Traces traces = acquisitions.abandon(id);
        if (traces.isEmpty()) {
            return CompletableFuture.completedFuture(null);
        }
        ConsulHold hold = traces.hold();
        CompletableFuture<?> ended = traces.unanswered().isEmpty() && hold != null
                ? delete(hold, deadline)
                : endUnanswered(id, hold == null ? NONE : hold.index(), traces.unanswered(), deadline);
        return ended.thenAccept(any -> acquisitions.ended(id));
    }

    /** False if the key was not as it should be; one that was changed by hand is removed too. */
    private CompletableFuture<Boolean> delete(ConsulHold hold, Deadline deadline) {
        AcquisitionId id = hold.acquisition();
        return held.delete(id.name(), hold.index(), deadline)
                .thenCompose(deleted -> deleted
                        ? CompletableFuture.completedFuture(true)
                        : endUnanswered(id, hold.index(), List.of(), deadline).thenApply(index -> false));
    }

    /**
     * Ends what is left of a hold that was lost: unanswered attempts, and a key that was changed by hand, which would stay
     * with the session. What fails is tried again at {@link #retryLost}.
     */
    void lost(ConsulHold hold, Deadline deadline) {
        AcquisitionId id = hold.acquisition();
        Acquisitions.Traces traces = acquisitions.abandon(id);
        endUnanswered(id, hold.index(), traces.unanswered(), deadline).whenComplete((index, failure) -> {
            if (failure == null) {
                acquisitions.ended(id);
            } else {
                toRetry.add(hold);
            }
        });
    }

    /** For each renewal: without any, the sessions end, and what is left with them. */
    void retryLost(Deadline deadline) {
        for (int i = toRetry.size(); i > 0; i--) {
            ConsulHold hold = toRetry.poll();
            if (hold != null) {
                lost(hold, deadline);
            }
        }
    }

    /**
     * First no unanswered attempt can be carried out any more; then what one of them has made is removed, or the key that was
     * created at that index. Returns the index of what was removed, {@link #NONE} if there was nothing.
     */
    private CompletableFuture<Long> endUnanswered(
            AcquisitionId id, long created, List<Acquisitions.Sent> unanswered, Deadline deadline) {
        CompletableFuture<?>[] fences = unanswered.stream()
                .distinct()
                .filter(sent -> !sent.session().hasEnded() && sent.session().epoch() == sent.epoch())
                .map(sent -> sessions.newEpoch(sent.session(), deadline))
                .toArray(CompletableFuture<?>[]::new);
        return CompletableFuture.allOf(fences)
                .thenCompose(done -> held.read(id.name(), deadline))
                .thenCompose(entry -> {
                    boolean own = entry != null
                            && (entry.createIndex() == created
                                    || ConsulValue.decode(entry.value()).isOf(id.owner()));
                    if (entry == null || !own) {
                        return CompletableFuture.completedFuture(NONE);
                    }
                    long index = entry.modifyIndex();
                    return held.delete(id.name(), index, deadline).thenApply(deleted -> deleted ? index : NONE);
                });
    }
}
