package dev.holdfast.lock.zookeeper;

import java.util.concurrent.ConcurrentHashMap;

/**
 * Proves from the answer to a creation that the new node is the lowest, so that the queue need not be listed.
 *
 * <p><b>Proof.</b> Let F be a node of this session that was the lowest when it held the lock, and that was deleted. All
 * nodes before F were gone by then, and all nodes created in that container after F have a higher sequence. If the new
 * node has F's sequence plus one, it is the only creation since F's, so no node is before it.
 *
 * <p>That holds in one container. If the servers removed it and a new one was created, its sequence started again from
 * 0. It reached the same number by at least as many creations, each with a zxid of its own. (Lock clients do not create
 * nodes in transactions; a client that fills a container by transactions breaks this.) So it is the same container if
 * fewer writes of the whole ensemble lie between the two nodes: F's sequence must not be below the distance of their
 * czxids. A young container or a busy ensemble fails this test, which proves nothing and costs a listing.
 *
 * <p>The listing is omitted only where the last two acquisitions followed each other in this way, since a listing that
 * turns out to be needed costs an additional trip. The number of stored names is bounded.
 *
 * <p>Thread-safe.
 */
final class LowestNodeProof {

    private static final int MAX_NAMES = 1_000;

    private record Predecessor(int sequence, long czxid, boolean followed) {
        /** Whether no node was created between this deleted node and the given one. */
        boolean isFollowedBy(LockNode lockNode) {
            return lockNode.sequence() == sequence + 1
                    && lockNode.czxid() > czxid
                    && lockNode.czxid() - czxid <= sequence;
        }
    }

    private final ConcurrentHashMap<String, Predecessor> predecessors = new ConcurrentHashMap<>();

    /** Records that a node, which was the lowest, was deleted. */
    void released(String name, LockNode lockNode) {
        if (!SequentialNode.isTrusted(lockNode.sequence())) {
            predecessors.remove(name);
            return;
        }
        Predecessor before = predecessors.get(name);
        if (before == null && predecessors.size() >= MAX_NAMES) {
            predecessors.clear();
        }
        predecessors.put(
                name,
                new Predecessor(
                        lockNode.sequence(), lockNode.czxid(), before != null && before.isFollowedBy(lockNode)));
    }

    /** Drops a name whose container is gone, because its sequence is gone too. */
    void forget(String name) {
        predecessors.remove(name);
    }

    /** The number of stored names, for tests. */
    int size() {
        return predecessors.size();
    }

    /** Whether the next node will probably be proved the lowest. */
    boolean isLikely(String name) {
        Predecessor predecessor = predecessors.get(name);
        return predecessor != null && predecessor.followed;
    }

    /** Whether a new node is proved to be the lowest. */
    boolean proves(String name, LockNode lockNode) {
        Predecessor predecessor = predecessors.get(name);
        return predecessor != null
                && SequentialNode.isTrusted(lockNode.sequence())
                && predecessor.isFollowedBy(lockNode);
    }
}
