package dev.holdfast.lock.zookeeper.internal.permit;

import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.zookeeper.internal.acquisition.Attempt;
import dev.holdfast.lock.zookeeper.internal.acquisition.AttemptCompletion;
import dev.holdfast.lock.zookeeper.internal.session.LockNode;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiFunction;
import java.util.function.Function;

/**
 * Decides an attempt for permits from the queue and the {@linkplain PermitState stored state}. Room follows from the
 * order of the queue. A node that has room holds its permits as soon as the stored state contains it, written by its
 * own client or by another one that has written for all.
 *
 * <p>A write without an answer needs no cleanup: either the state contains the entry, which the next look shows, or the
 * write is refused because another client has written since or the node is gone. Stateless.
 */
public final class PermitAcquirer {
    private static final int MAX_RETRIES = 50;

    private final PermitStateStore stateStore;
    private final AttemptCompletion completion;
    private final BiFunction<Attempt, LockNode, CompletableFuture<AcquireResult>> look;
    private final Function<Attempt, CompletableFuture<AcquireResult>> deleted;

    /** Creates it; {@code look} reads the queue again, {@code deleted} handles a node that was not found. */
    public PermitAcquirer(
            PermitStateStore stateStore,
            AttemptCompletion completion,
            BiFunction<Attempt, LockNode, CompletableFuture<AcquireResult>> look,
            Function<Attempt, CompletableFuture<AcquireResult>> deleted) {
        this.stateStore = stateStore;
        this.completion = completion;
        this.look = look;
        this.deleted = deleted;
    }

    /** Decides for the node at that index of the queue. */
    public CompletableFuture<AcquireResult> decide(
            Attempt run, LockNode lockNode, PermitLine line, int index, long certainMillis) {
        boolean waits = run.request().waitMillis() > 0;
        PermitLine.Decision decision = line.decisionFor(index);
        if (decision instanceof PermitLine.Decision.Held held) {
            return granted(run, lockNode, held.slot(), certainMillis);
        }
        if (decision instanceof PermitLine.Decision.OtherLimit other) {
            return completion.leaveNothing(run).thenApply(busy -> new AcquireResult.OtherLimit(other.limit()));
        }
        if (decision instanceof PermitLine.Decision.NoLimit none && (none.room() || waits)) {
            Attempt again = nextRetry(run);
            int limit = run.permits().limit();
            return stateStore
                    .create(run.session(), run.name(), limit)
                    .thenCompose(created -> look.apply(again, lockNode));
        }
        if (decision instanceof PermitLine.Decision.Room room) {
            return write(run, lockNode, room.next());
        }
        return waits
                ? CompletableFuture.completedFuture(new AcquireResult.Busy(-1, run.node()))
                : completion.leaveNothing(run);
    }

    private CompletableFuture<AcquireResult> write(Attempt run, LockNode lockNode, PermitState permitState) {
        return stateStore
                .write(run.session(), run.name(), permitState, lockNode.path())
                .thenCompose(written -> switch (written) {
                    case DONE ->
                        granted(
                                run,
                                lockNode,
                                permitState.slotOf(lockNode.child()),
                                run.session().certainMillis());
                    case CONFLICT -> look.apply(nextRetry(run), lockNode);
                    case NODE_GONE -> deleted.apply(run);
                });
    }

    private CompletableFuture<AcquireResult> granted(Attempt run, LockNode lockNode, int slot, long certainMillis) {
        run.node().slot = slot;
        return completion.granted(run, lockNode, certainMillis);
    }

    private static Attempt nextRetry(Attempt run) {
        if (run.retries() >= MAX_RETRIES) {
            throw new LockUnavailableException(
                    "other clients took permits of '" + run.name() + "' first " + MAX_RETRIES + " times in a row");
        }
        return run.next();
    }
}
