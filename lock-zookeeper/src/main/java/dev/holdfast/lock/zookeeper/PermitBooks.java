package dev.holdfast.lock.zookeeper;

import dev.holdfast.lock.LockConfigurationException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Op;

/**
 * Reads and writes {@linkplain PermitBook what is stored of permits}, in a persistent node in the node of the name. A write expects
 * the version that was read, so a late or repeated one is refused, and one that was overtaken as well. Stateless.
 */
record PermitBooks(LockTree tree) {
    private static final byte[] NOTHING = new byte[0];

    /** What became of a write. */
    enum Written {
        DONE,
        /** Somebody has written meanwhile. */
        OVERTAKEN,
        /** The place is not there. */
        WITHOUT_PLACE
    }

    /** Completes with the stored book; with {@link PermitBook#NONE} if there is none. */
    CompletableFuture<PermitBook> read(Session session, String name) {
        String path = tree.permits(name);
        return session.data(path)
                .thenApply(data -> PermitBook.parse(data.bytes(), data.stat().getVersion())
                        .orElseThrow(() -> new LockConfigurationException(
                                path + " is not what a lock client writes of permits; see who did, and delete it"
                                        + " when nobody has any of them")))
                .exceptionally(failure -> Futures.recover(failure, Code.NONODE, PermitBook.NONE));
    }

    /** Stores a new one unless there is one. */
    CompletableFuture<Boolean> create(Session session, String name, int limit) {
        return session.create(tree.permits(name), PermitBook.ofLimit(limit).bytes(), tree.acl(), CreateMode.PERSISTENT)
                .thenApply(created -> true)
                .exceptionally(failure -> Futures.recover(failure, Code.NODEEXISTS, false));
    }

    /** Writes the next one if nobody has written since it was read, and if that place is there. */
    CompletableFuture<Written> write(Session session, String name, PermitBook next, String place) {
        return session.transact(List.of(Op.check(place, -1), replacing(name, next)))
                .thenApply(done -> switch (done) {
                    case 0 -> Written.WITHOUT_PLACE;
                    case 1 -> Written.OVERTAKEN;
                    default -> Written.DONE;
                });
    }

    private Op replacing(String name, PermitBook next) {
        String path = tree.permits(name);
        if (next.version() == -1) {
            // To the servers it would mean any version.
            throw new LockConfigurationException(
                    path + " was written 2^32 times; delete it when nobody has permits of it");
        }
        return Op.setData(path, next.bytes(), next.version());
    }

    /** Completes with the limit that is stored then. A change writes to the node of the name as well: waiters watch that. */
    CompletableFuture<Integer> changeLimit(Session session, String name, int from, int to) {
        Futures.ignore(session.sync(tree.parent(name))); // the change before this one is seen, on whatever server
        return read(session, name).thenCompose(book -> {
            if (book.limit() == 0) {
                return tree.ensureParent(session, tree.parent(name))
                        .thenCompose(nothing -> create(session, name, to))
                        .thenCompose(created ->
                                created ? CompletableFuture.completedFuture(to) : changeLimit(session, name, from, to));
            }
            if (book.limit() != from || from == to) {
                return CompletableFuture.completedFuture(book.limit());
            }
            List<Op> change = List.of(replacing(name, book.withLimit(to)), Op.setData(tree.parent(name), NOTHING, -1));
            return session.transact(change)
                    .thenCompose(done -> done == change.size()
                            ? CompletableFuture.completedFuture(to)
                            : changeLimit(session, name, from, to));
        });
    }
}
