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

    private final LockTree tree;
    private final PermitStateStore stateStore;
    private final ReentrantLock mutex = new ReentrantLock();
    /** The places where a look is running, with the look that follows it; a place without one has an empty entry. */
    private final Map<Place, CompletableFuture<PermitLine>> following = new HashMap<>();

    SharedLooks(LockTree tree, PermitStateStore stateStore) {
        this.tree = tree;
        this.stateStore = stateStore;
    }

    CompletableFuture<PermitLine> look(Session session, String name) {
        Place place = new Place(session, name);
        CompletableFuture<PermitLine> look = new CompletableFuture<>();
        mutex.lock();
        try {
            if (following.containsKey(place)) {
                @Nullable CompletableFuture<PermitLine> next = following.get(place);
                if (next == null) {
                    following.put(place, look);
                }
                return next == null ? look : next;
            }
            following.put(place, null);
        } finally {
            mutex.unlock();
        }
        send(place, look);
        return look;
    }

    private void send(Place place, CompletableFuture<PermitLine> look) {
        StageHelpers.listen(FailureTranslator.guard(() -> read(place)), (line, failure) -> {
            CompletableFuture<PermitLine> next = next(place);
            if (next != null) {
                send(place, next);
            }
            if (failure == null) {
                look.complete(line);
            } else {
                look.completeExceptionally(FailureTranslator.unwrap(failure));
            }
        });
    }

    private @Nullable CompletableFuture<PermitLine> next(Place place) {
        mutex.lock();
        try {
            CompletableFuture<PermitLine> next = following.remove(place);
            if (next != null) {
                following.put(place, null);
            }
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
