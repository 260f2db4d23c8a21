package dev.holdfast.lock.zookeeper.internal.queue;

import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.zookeeper.internal.permit.PermitLine;
import dev.holdfast.lock.zookeeper.internal.permit.PermitState;
import dev.holdfast.lock.zookeeper.internal.permit.PermitStateStore;
import dev.holdfast.lock.zookeeper.internal.session.LockTree;
import dev.holdfast.lock.zookeeper.internal.session.SequentialNode;
import dev.holdfast.lock.zookeeper.internal.session.Session;
import dev.holdfast.lock.zookeeper.internal.session.StageHelpers;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;
import org.apache.zookeeper.KeeperException.Code;

/** Reads the holders and the waiters of a name. */
record QueueReading(LockTree tree, Session session) {

    /**
     * Lists a queue; empty if the node of the name does not exist. If it contains permits, lists it again after reading
     * their state.
     */
    CompletableFuture<PermitLine> line(String name) {
        return queue(name)
                .thenCompose(queue -> queue.stream().anyMatch(SequentialNode::isForPermits)
                        ? new PermitStateStore(tree)
                                .read(session, name)
                                .thenCombine(queue(name), (permitState, later) -> new PermitLine(later, permitState))
                        : CompletableFuture.completedFuture(new PermitLine(queue, PermitState.NONE)));
    }

    private CompletableFuture<List<SequentialNode>> queue(String name) {
        String parent = tree.parent(name);
        return session.children(parent)
                .exceptionally(failure -> StageHelpers.recover(failure, Code.NONODE, List.of()))
                .thenCompose(children -> CreationOrder.of(session, parent, children));
    }

    /**
     * Reads the holders in the order of their tokens, and repeats that if a holder had gone before its data was read.
     */
    CompletableFuture<List<HolderInfo>> holders(String name, int most, int reads) {
        String parent = tree.parent(name);
        // The sync shows all acquisitions that completed before this call, on any server.
        return session.synced(parent, () -> line(name)).thenCompose(line -> {
            IntPredicate held = line.demands()::isHeld;
            long expected = IntStream.range(0, line.queue().size())
                    .filter(held)
                    .limit(most)
                    .count();
            return read(parent, line, held, most)
                    .thenCompose(holders -> holders.size() < expected && reads > 1
                            ? holders(name, most, reads - 1)
                            : CompletableFuture.completedFuture(holders));
        });
    }

    /** Reads some nodes of a queue, and leaves out those that are gone. */
    CompletableFuture<List<HolderInfo>> read(String parent, PermitLine line, IntPredicate which, long most) {
        List<CompletableFuture<Optional<HolderInfo>>> reads = IntStream.range(
                        0, line.queue().size())
                .filter(which)
                .limit(most)
                .mapToObj(index -> read(parent, line, index))
                .toList();
        return CompletableFuture.allOf(reads.toArray(CompletableFuture[]::new))
                .thenApply(done -> reads.stream()
                        .map(CompletableFuture::join)
                        .flatMap(Optional::stream)
                        .toList());
    }

    private CompletableFuture<Optional<HolderInfo>> read(String parent, PermitLine line, int index) {
        SequentialNode node = line.queue().get(index);
        boolean held = line.demands().isHeld(index);
        return session.data(parent + "/" + node.name())
                .thenApply(data -> Optional.of(Identity.decode(new String(data.bytes(), StandardCharsets.UTF_8))
                        .holderInfo(
                                held ? data.stat().getCzxid() : 0,
                                Instant.ofEpochMilli(data.stat().getCtime()),
                                node.demand(),
                                held ? line.slotOf(index) : 0)))
                .exceptionally(failure -> StageHelpers.recover(failure, Code.NONODE, Optional.empty()));
    }
}
