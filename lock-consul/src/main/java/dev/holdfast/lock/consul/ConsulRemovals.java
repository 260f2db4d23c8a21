package dev.holdfast.lock.consul;

import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.ReleaseResult;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;

/** Removes what acquisitions have on the server. Thread-safe; never blocks. */
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

    /** Releases a hold, with one request if all attempts of its acquisition have been answered. */
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

    /** Removes everything that the acquisition may have; sends no request if all its attempts were refused. */
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

    /** Returns false if the key was missing or changed; a key that was changed by hand is removed too. */
    private CompletableFuture<Boolean> delete(ConsulHold hold, Deadline deadline) {
        AcquisitionId id = hold.acquisition();
        return held.delete(id.name(), hold.index(), deadline)
                .thenCompose(deleted -> deleted
                        ? CompletableFuture.completedFuture(true)
                        : endUnanswered(id, hold.index(), List.of(), deadline).thenApply(index -> false));
    }

    /**
     * Removes what a lost hold may have left: unanswered attempts, and a key that was changed by hand, which would stay
     * with the session. Failures are retried by {@link #retryLost}.
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

    /** Called with each renewal. Without renewals the sessions end, and the leftovers end with them. */
    void retryLost(Deadline deadline) {
        for (int i = toRetry.size(); i > 0; i--) {
            ConsulHold hold = toRetry.poll();
            if (hold != null) {
                lost(hold, deadline);
            }
        }
    }

    /**
     * First prevents the execution of unanswered attempts. Then removes the key if one of them created it, or if it was
     * created at the given index. Returns the index of the removed key, or {@link #NONE} if there was none.
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
