package dev.holdfast.lock.zookeeper;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.data.Stat;

/** The order of a queue: by sequence, which costs no request, or by the czxids where the sequence cannot be trusted. */
final class CreationOrder {

    private CreationOrder() {}

    /** Sorts the nodes of a queue. Leaves out nodes that were deleted meanwhile. */
    static CompletableFuture<List<SequentialNode>> of(Session session, String parent, List<String> children) {
        List<SequentialNode> sorted = SequentialNode.of(children);
        return SequentialNode.isOrdered(sorted)
                ? CompletableFuture.completedFuture(sorted)
                : byZxid(session, parent, sorted);
    }

    private static CompletableFuture<List<SequentialNode>> byZxid(
            Session session, String parent, List<SequentialNode> sequentialNodes) {
        Map<SequentialNode, Long> created = new ConcurrentHashMap<>();
        List<CompletableFuture<Void>> requests = new ArrayList<>();
        for (SequentialNode sequentialNode : sequentialNodes) {
            Function<Throwable, Stat> absent = failure -> Futures.recover(failure, Code.NONODE, new Stat());
            requests.add(session.exists(parent + "/" + sequentialNode.name())
                    .exceptionally(absent)
                    .thenAccept(stat -> {
                        if (stat.getCzxid() != 0) {
                            created.put(sequentialNode, stat.getCzxid());
                        }
                    }));
        }
        return CompletableFuture.allOf(requests.toArray(CompletableFuture[]::new))
                .thenApply(nothing -> created.entrySet().stream()
                        .sorted(Map.Entry.comparingByValue())
                        .map(Map.Entry::getKey)
                        .toList());
    }
}
