package dev.holdfast.lock.zookeeper;

import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;

/**
 * The limits of permits: the data of a persistent node in the node of the name. A change expects the version that it has read, so a
 * late or repeated one is refused.
 */
record PermitLimits(LockTree tree) {

    /** Completes with the stored limit; 0 if there is none. */
    CompletableFuture<Integer> read(Session session, String name) {
        return session.data(tree.limit(name))
                .thenApply(data -> limit(data.bytes()))
                .exceptionally(failure -> Futures.recover(failure, Code.NONODE, 0));
    }

    private static int limit(byte[] data) {
        String text = new String(data, StandardCharsets.UTF_8);
        return text.matches("\\d{1,7}") ? Integer.parseInt(text) : 0;
    }

    private static byte[] bytes(int limit) {
        return Integer.toString(limit).getBytes(StandardCharsets.UTF_8);
    }

    /** Stores a limit unless there is one. */
    CompletableFuture<Boolean> create(Session session, String name, int limit) {
        return session.create(tree.limit(name), bytes(limit), tree.acl(), CreateMode.PERSISTENT)
                .thenApply(created -> true)
                .exceptionally(failure -> Futures.recover(failure, Code.NODEEXISTS, false));
    }

    /** Completes with the limit that is stored then. */
    CompletableFuture<Integer> change(Session session, String name, int from, int to) {
        CompletableFuture<Integer> result = new CompletableFuture<>();
        Futures.listen(session.data(tree.limit(name)), (data, failure) -> {
            if (failure == null) {
                int stored = limit(data.bytes());
                CompletableFuture<Integer> changed = stored != from || from == to
                        ? CompletableFuture.completedFuture(stored)
                        : replace(session, name, from, to, data.stat().getVersion());
                Futures.pass(changed, result);
            } else if (ZooKeeperFailures.is(failure, Code.NONODE)) {
                Futures.pass(
                        tree.ensureParent(session, tree.parent(name))
                                .thenCompose(nothing -> create(session, name, to))
                                .thenCompose(created -> created
                                        ? CompletableFuture.completedFuture(to)
                                        : change(session, name, from, to)),
                        result);
            } else {
                result.completeExceptionally(failure);
            }
        });
        return result;
    }

    private CompletableFuture<Integer> replace(Session session, String name, int from, int to, int version) {
        return session.setData(tree.limit(name), bytes(to), version)
                .thenApply(nothing -> true)
                .exceptionally(failure -> Futures.recover(failure, Code.BADVERSION, false))
                .thenCompose(
                        written -> written ? CompletableFuture.completedFuture(to) : change(session, name, from, to));
    }
}
