package dev.holdfast.lock.zookeeper;

import dev.holdfast.lock.zookeeper.ZooKeeperAcquisition.Place;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Tells from the answer to a creation alone that the new node is the lowest, so that the queue need not be listed.
 *
 * <p><b>Proof.</b> Let F be a node of this session that was the lowest when it held the lock, and that was deleted. What
 * was before F was gone by then, and what was created in that container after F has a higher sequence. If the new node
 * has F's sequence plus one, it is the only creation since F's, so nobody is before it.
 *
 * <p>That holds in one container. If the servers have removed it and made a new one, its sequence started again from 0 and
 * came to the same number by at least as many creations, each of which has a zxid of its own (lock clients do not create
 * nodes in transactions; who fills a container by one breaks this). So it is the same container
 * if fewer writes of the whole ensemble lie between the two nodes than that: F's sequence must not be below the distance
 * of their czxids. A young container or a busy ensemble fails this test, which proves nothing and costs a listing.
 *
 * <p>The listing is omitted only where the last two acquisitions followed each other in this way, since one that turns out
 * to be needed after all costs a trip. What is remembered is bounded.
 *
 * <p>Thread-safe.
 */
final class LowestNodeProof {

    private static final int MOST_NAMES = 1_000;

    private record Former(int sequence, long czxid, boolean followed) {
        /** Whether nobody was queued between it, which is deleted, and the place. */
        boolean isFollowedBy(Place place) {
            return place.sequence() == sequence + 1 && place.czxid() > czxid && place.czxid() - czxid <= sequence;
        }
    }

    private final ConcurrentHashMap<String, Former> formers = new ConcurrentHashMap<>();

    /** Notes that a place, which was the lowest, was deleted. */
    void released(String name, Place place) {
        if (!SequentialNode.isTrusted(place.sequence())) {
            formers.remove(name);
            return;
        }
        Former before = formers.get(name);
        if (before == null && formers.size() >= MOST_NAMES) {
            formers.clear();
        }
        formers.put(name, new Former(place.sequence(), place.czxid(), before != null && before.isFollowedBy(place)));
    }

    /** The container is gone, with its sequence. */
    void forget(String name) {
        formers.remove(name);
    }

    /** How many names are remembered. */
    int size() {
        return formers.size();
    }

    /** Whether the next node will probably be proved the lowest. */
    boolean isLikely(String name) {
        Former former = formers.get(name);
        return former != null && former.followed;
    }

    /** Whether a new place is proved to be the lowest. */
    boolean proves(String name, Place place) {
        Former former = formers.get(name);
        return former != null && SequentialNode.isTrusted(place.sequence()) && former.isFollowedBy(place);
    }
}
