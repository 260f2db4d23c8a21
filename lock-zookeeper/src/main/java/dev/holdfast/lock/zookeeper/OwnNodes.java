package dev.holdfast.lock.zookeeper;

import dev.holdfast.lock.zookeeper.ZooKeeperAcquisition.Place;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.data.Stat;

/** Looks for the nodes of an acquisition whose creation had no answer. */
final class OwnNodes {

    private OwnNodes() {}

    /**
     * Finds the nodes of this owner and session, by creation. Others of this owner, of a session that is about to end, may be there
     * before them and are left to end with theirs.
     */
    static CompletableFuture<List<Place>> find(Attempt run, String parent) {
        Futures.ignore(run.session().sync(parent));
        return run.session()
                .children(parent)
                .exceptionally(failure -> Futures.recover(failure, Code.NONODE, List.of()))
                .thenCompose(children -> ofThisSession(run, parent, children));
    }

    private static CompletableFuture<List<Place>> ofThisSession(Attempt run, String parent, List<String> children) {
        Session session = run.session();
        String prefix = SequentialNode.prefix(run.node().acquisition().owner());
        List<CompletableFuture<Place>> looks = children.stream()
                .filter(child ->
                        child.startsWith(prefix) && SequentialNode.parse(child).isPresent())
                .map(child -> parent + "/" + child)
                .map(path -> session.exists(path)
                        .exceptionally(failure -> Futures.recover(failure, Code.NONODE, new Stat()))
                        .thenApply(stat -> new Place(
                                session, path, stat.getEphemeralOwner() == session.id() ? stat.getCzxid() : 0)))
                .toList();
        return CompletableFuture.allOf(looks.toArray(CompletableFuture[]::new))
                .thenApply(nothing -> looks.stream()
                        .map(CompletableFuture::join)
                        .filter(place -> place.czxid() != 0)
                        .sorted(Comparator.comparingLong(Place::czxid))
                        .toList());
    }
}
