package dev.holdfast.lock.zookeeper.internal.queue;

import dev.holdfast.lock.spi.support.FailureTranslator;
import dev.holdfast.lock.zookeeper.internal.permit.PermitLine;
import dev.holdfast.lock.zookeeper.internal.permit.PermitStateStore;
import dev.holdfast.lock.zookeeper.internal.session.LockTree;
import dev.holdfast.lock.zookeeper.internal.session.Session;
import dev.holdfast.lock.zookeeper.internal.session.StageHelpers;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Reads the permits of a name and then its queue, once for all attempts that ask meanwhile. An attempt that asks while a
 * look is running gets the next one, which is sent after the attempt's own requests. So many attempts at once list the
 * queue a few times rather than once each, and the result is evaluated once.
 *
 * <p>Thread-safe.
 */
final class SharedLooks {
    private record Place(Session session, String name) {}

    /** A look that was sent, and the result of the one that follows it; guarded by the mutex. */
    private static final class Look {
        /** A look without an end for that long was lost, as without memory. Another one does no harm. */
        private static final long LOST_SECONDS = 10;

        final CompletableFuture<PermitLine> result;
        final long sinceNanos = System.nanoTime();

        @Nullable CompletableFuture<PermitLine> next;

        Look() {
            this(new CompletableFuture<>());
        }

        Look(CompletableFuture<PermitLine> result) {
            this.result = result;
        }

        boolean isLost() {
            return System.nanoTime() - sinceNanos > TimeUnit.SECONDS.toNanos(LOST_SECONDS);
        }
    }

    private final LockTree tree;
    private final PermitStateStore stateStore;
    private final ReentrantLock mutex = new ReentrantLock();
    private final Map<Place, Look> running = new HashMap<>();

    SharedLooks(LockTree tree, PermitStateStore stateStore) {
        this.tree = tree;
        this.stateStore = stateStore;
    }

    CompletableFuture<PermitLine> look(Session session, String name) {
        Place place = new Place(session, name);
        Look mine = new Look();
        mutex.lock();
        try {
            Look now = running.get(place);
            if (now != null && !now.isLost()) {
                now.next = now.next == null ? mine.result : now.next;
                return now.next;
            }
            running.put(place, mine);
            if (now != null && now.next != null) {
                StageHelpers.pass(mine.result, now.next);
            }
        } finally {
            mutex.unlock();
        }
        send(place, mine);
        return mine.result;
    }

    private void send(Place place, Look look) {
        StageHelpers.listen(FailureTranslator.guard(() -> read(place)), (line, failure) -> {
            Look next = next(place, look);
            if (next != null) {
                send(place, next);
            }
            if (failure == null) {
                look.result.complete(line);
            } else {
                look.result.completeExceptionally(FailureTranslator.unwrap(failure));
            }
        });
    }

    /** Returns the look that follows this one. */
    private @Nullable Look next(Place place, Look done) {
        mutex.lock();
        try {
            if (running.get(place) != done) {
                return null;
            }
            if (done.next == null) {
                running.remove(place);
                return null;
            }
            Look next = new Look(done.next);
            running.put(place, next);
            return next;
        } finally {
            mutex.unlock();
        }
    }

    private CompletableFuture<PermitLine> read(Place place) {
        String parent = tree.parent(place.name);
        return stateStore
                .read(place.session, place.name)
                .thenCombine(
                        place.session
                                .children(parent)
                                .thenCompose(children -> CreationOrder.of(place.session, parent, children)),
                        (permitState, queue) -> new PermitLine(queue, permitState));
    }
}
