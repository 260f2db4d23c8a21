package dev.holdfast.lock.zookeeper.internal.queue;

import dev.holdfast.lock.ListedLock;
import dev.holdfast.lock.LockListing;
import dev.holdfast.lock.spi.LockName;
import dev.holdfast.lock.zookeeper.internal.session.LockTree;
import dev.holdfast.lock.zookeeper.internal.session.Session;
import dev.holdfast.lock.zookeeper.internal.session.StageHelpers;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.IntPredicate;
import org.apache.zookeeper.KeeperException.Code;

/**
 * Lists locks: the names below the base path, the queue of each, and the data of each node in it. Servers keep the node
 * of a name for a while after its last acquisition, so a page reads several times as many names as it returns locks.
 * Stateless.
 */
final class TreeListing {
    private static final int NAMES_A_LOCK = 4;
    private static final int MAX_HOLDERS = 1_000;

    private final LockTree tree;
    private final Session session;

    TreeListing(LockTree tree, Session session) {
        this.tree = tree;
        this.session = session;
    }

    CompletableFuture<LockListing> list(String prefix, int limit) {
        return session.children(tree.base())
                .exceptionally(failure -> StageHelpers.recover(failure, Code.NONODE, List.of()))
                .thenCompose(children -> list(matching(children, prefix), limit));
    }

    /** Maps names to encoded names. */
    private static Map<String, String> matching(List<String> children, String prefix) {
        Map<String, String> matching = new TreeMap<>();
        for (String child : children) {
            LockName.percentDecoded(child)
                    .filter(name -> name.startsWith(prefix))
                    .ifPresent(name -> matching.put(name, child));
        }
        return matching;
    }

    private CompletableFuture<LockListing> list(Map<String, String> names, int limit) {
        int looks = limit * NAMES_A_LOCK;
        List<CompletableFuture<ListedLock>> locks = new ArrayList<>();
        names.entrySet().stream()
                .limit(looks)
                .forEach(entry -> locks.add(listed(entry.getKey(), tree.child(entry.getValue()))));
        return CompletableFuture.allOf(locks.toArray(CompletableFuture[]::new)).thenApply(done -> {
            List<ListedLock> inUse = locks.stream()
                    .map(CompletableFuture::join)
                    .filter(lock -> lock.holder().isPresent())
                    .toList();
            return new LockListing(inUse.stream().limit(limit).toList(), inUse.size() > limit || names.size() > looks);
        });
    }

    private CompletableFuture<ListedLock> listed(String name, String parent) {
        QueueReading reading = new QueueReading(tree, session);
        return reading.line(name).thenCompose(line -> {
            IntPredicate held = line.demands()::isHeld;
            return reading.read(parent, line, held, MAX_HOLDERS)
                    .thenCombine(
                            reading.read(parent, line, held.negate(), ListedLock.MAX_WAITERS),
                            (holders, waiters) -> new ListedLock(name, holders, waiters));
        });
    }
}
