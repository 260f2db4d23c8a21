package dev.holdfast.lock.zookeeper.internal.acquisition;

import dev.holdfast.lock.zookeeper.internal.session.LockNode;
import dev.holdfast.lock.zookeeper.internal.session.SequentialNode;
import dev.holdfast.lock.zookeeper.internal.session.Session;
import dev.holdfast.lock.zookeeper.internal.session.StageHelpers;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.data.Stat;

/** Finds the nodes of an acquisition whose creation had no answer. */
public final class OwnNodes {

    private OwnNodes() {}

    /**
     * Finds the nodes of this owner and session, in the order of creation. Nodes of the same owner that belong to an
     * ending session are left out; they end with it.
     */
    public static CompletableFuture<List<LockNode>> find(Attempt run, String parent) {
        return run.session()
                .synced(parent, () -> run.session().children(parent))
                .exceptionally(failure -> StageHelpers.recover(failure, Code.NONODE, List.of()))
                .thenCompose(children -> ofThisSession(run, parent, children));
    }

    private static CompletableFuture<List<LockNode>> ofThisSession(Attempt run, String parent, List<String> children) {
        Session session = run.session();
        String prefix = SequentialNode.prefix(run.node().acquisition().owner());
        List<CompletableFuture<LockNode>> lookups = children.stream()
                .filter(child ->
                        child.startsWith(prefix) && SequentialNode.parse(child).isPresent())
                .map(child -> parent + "/" + child)
                .map(path -> session.exists(path)
                        .exceptionally(failure -> StageHelpers.recover(failure, Code.NONODE, new Stat()))
                        .thenApply(stat -> new LockNode(
                                session, path, stat.getEphemeralOwner() == session.id() ? stat.getCzxid() : 0)))
                .toList();
        return CompletableFuture.allOf(lookups.toArray(CompletableFuture[]::new))
                .thenApply(nothing -> lookups.stream()
                        .map(CompletableFuture::join)
                        .filter(lockNode -> lockNode.czxid() != 0)
                        .sorted(Comparator.comparingLong(LockNode::czxid))
                        .toList());
    }
}
