package dev.holdfast.lock.zookeeper.internal.permit;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.zookeeper.internal.session.LockTree;
import dev.holdfast.lock.zookeeper.internal.session.Session;
import dev.holdfast.lock.zookeeper.internal.session.StageHelpers;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Op;

/**
 * Reads and writes the {@linkplain PermitState state of permits}, which is stored in a persistent child of the node of
 * the name. A write expects the version that was read, so late, repeated and concurrent writes are refused. Stateless.
 */
public record PermitStateStore(LockTree tree) {
    private static final byte[] NOTHING = new byte[0];

    /** The outcome of a write. */
    enum Written {
        DONE,
        /** Another client has written since the state was read. */
        CONFLICT,
        /** The node of the acquisition does not exist. */
        NODE_GONE
    }

    /** Completes with the stored state, or with {@link PermitState#NONE} if there is none. */
    public CompletableFuture<PermitState> read(Session session, String name) {
        String path = tree.permits(name);
        return session.data(path)
                .thenApply(data -> PermitState.parse(data.bytes(), data.stat().getVersion())
                        .orElseThrow(() -> new LockConfigurationException(path
                                + " does not have the format of stored permits; find out who wrote it, and delete it"
                                + " when no client holds permits")))
                .exceptionally(failure -> StageHelpers.recover(failure, Code.NONODE, PermitState.NONE));
    }

    /** Stores a new state unless there is one. */
    CompletableFuture<Boolean> create(Session session, String name, int limit) {
        return session.create(tree.permits(name), PermitState.ofLimit(limit).bytes(), tree.acl(), CreateMode.PERSISTENT)
                .thenApply(created -> true)
                .exceptionally(failure -> StageHelpers.recover(failure, Code.NODEEXISTS, false));
    }

    /** Writes the next state if no client has written since it was read and the given node exists. */
    CompletableFuture<Written> write(Session session, String name, PermitState next, String ownPath) {
        return session.transact(List.of(Op.check(ownPath, -1), replacing(name, next)))
                .thenApply(done -> switch (done) {
                    case 0 -> Written.NODE_GONE;
                    case 1 -> Written.CONFLICT;
                    default -> Written.DONE;
                });
    }

    private Op replacing(String name, PermitState next) {
        String path = tree.permits(name);
        if (next.version() == -1) {
            // The servers would take -1 as "any version".
            throw new LockConfigurationException(
                    path + " was written 2^32 times; delete it when no client holds permits");
        }
        return Op.setData(path, next.bytes(), next.version());
    }

    /**
     * Completes with the limit that is stored then. A change also writes to the node of the name, which waiters watch.
     */
    public CompletableFuture<Integer> changeLimit(Session session, String name, int from, int to) {
        // The sync shows the previous change on any server.
        return session.synced(tree.parent(name), () -> read(session, name)).thenCompose(permitState -> {
            if (permitState.limit() == 0) {
                return tree.ensureParent(session, tree.parent(name))
                        .thenCompose(nothing -> create(session, name, to))
                        .thenCompose(created ->
                                created ? CompletableFuture.completedFuture(to) : changeLimit(session, name, from, to));
            }
            if (permitState.limit() != from || from == to) {
                return CompletableFuture.completedFuture(permitState.limit());
            }
            List<Op> change =
                    List.of(replacing(name, permitState.withLimit(to)), Op.setData(tree.parent(name), NOTHING, -1));
            return session.transact(change)
                    .thenCompose(done -> done == change.size()
                            ? CompletableFuture.completedFuture(to)
                            : changeLimit(session, name, from, to));
        });
    }
}
