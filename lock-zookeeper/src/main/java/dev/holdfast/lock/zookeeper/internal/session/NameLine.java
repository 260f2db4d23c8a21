package dev.holdfast.lock.zookeeper.internal.session;

import dev.holdfast.lock.Demand;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/**
 * The queue of one name as a session's events show it, and the session's own waiters for permits in it. An event costs
 * as many steps as there are permits, however many wait. Not thread-safe; see {@link LineRegistry}.
 *
 * <p><b>Why the events are enough.</b> The servers send the event of a write to a session before the result of any later
 * write is visible to its reads. So if a session reads the permits of a name now, all nodes that hold some, and all nodes
 * ahead of a known one, are known, unless they are gone. A node whose deletion is not reported yet only keeps others
 * waiting. An entry of the permits that was never reported shows that events are missing.
 */
final class NameLine {

    /** A waiter: when its node was created, as a zxid, and what to run when an attempt is worth it. */
    record Waiter(long since, Runnable onRoom) {}

    private static final int MAX_GONE = 1_000;

    private final TreeMap<Integer, SequentialNode> nodes = new TreeMap<>();
    private final Map<String, Waiter> waiters = new HashMap<>();
    /** Creations and deletions since the listing that has no answer yet was sent; it may or may not contain them. */
    private final Map<String, Boolean> changes = new HashMap<>();

    /** Nodes whose deletion was reported, and which the stored permits may still name. */
    private final Set<String> gone = new HashSet<>();

    private boolean listing;
    private boolean ready;
    private boolean ordered = true;
    private int maxLimit;

    /** Adds a waiter, or replaces the one with this node. */
    void add(String child, Waiter waiter) {
        waiters.put(child, waiter);
    }

    void remove(String child, Waiter waiter) {
        waiters.remove(child, waiter);
    }

    boolean hasWaiters() {
        return !waiters.isEmpty();
    }

    boolean isReady() {
        return ready;
    }

    /** All waiters whose nodes were created before that zxid. */
    List<Waiter> waitersBefore(long zxid) {
        return waiters.values().stream().filter(waiter -> waiter.since < zxid).toList();
    }

    /** A listing is sent now. */
    void listingSent() {
        listing = true;
        changes.clear();
    }

    /** The events are incomplete, so nothing is certain before the next listing. */
    void outdated() {
        ready = false;
    }

    /** Takes over a listing; returns the waiters that have room or whose nodes are gone. */
    List<Waiter> listed(List<String> children) {
        Map<String, Boolean> present = new HashMap<>();
        children.forEach(child -> present.put(child, true));
        present.putAll(changes);
        listing = false;
        ready = true;
        ordered = true;
        maxLimit = 0;
        nodes.clear();
        gone.clear();
        present.forEach((child, there) -> {
            if (there) {
                insert(child);
            }
        });
        List<Waiter> woken = new ArrayList<>();
        waiters.forEach((child, waiter) -> {
            if (!contains(child)) {
                woken.add(waiter);
            }
        });
        woken.addAll(withRoom());
        return woken;
    }

    void listingFailed() {
        listing = false;
    }

    void created(String child) {
        if (listing) {
            changes.put(child, true);
        }
        if (ready) {
            insert(child);
        }
    }

    /** Takes out a node; returns the waiters that have room now. */
    List<Waiter> deleted(String child) {
        if (listing) {
            changes.put(child, false);
        }
        if (!ready || !contains(child) && ordered) {
            return List.of();
        }
        SequentialNode.parse(child).ifPresent(node -> nodes.remove(node.sequence(), node));
        if (gone.size() >= MAX_GONE) {
            gone.clear();
        }
        gone.add(child);
        List<Waiter> woken = new ArrayList<>(withRoom());
        Waiter own = waiters.get(child);
        if (own != null) {
            woken.add(own);
        }
        return woken;
    }

    /** Whether a waiter certainly has to wait for an event. */
    boolean isFull(String child) {
        return ready && ordered && contains(child) && !hasRoom(child);
    }

    /** Whether a node that is created now will have to wait for an event. */
    boolean isFull(Demand.Permits asked) {
        if (!ready || !ordered) {
            return false;
        }
        long permits = asked.permits();
        for (SequentialNode node : nodes.values()) {
            permits += node.demand() instanceof Demand.Permits ahead ? ahead.permits() : asked.limit();
            if (permits > asked.limit()) {
                return true;
            }
        }
        return false;
    }

    /**
     * The queue, in its order; empty if it is not certain to be complete up to that node.
     *
     * @param holders the nodes that the stored permits name, which were read just now
     */
    Optional<List<SequentialNode>> queue(String child, Set<String> holders) {
        gone.retainAll(holders);
        boolean complete = ready && ordered && contains(child);
        for (String holder : holders) {
            complete = complete && (gone.contains(holder) || contains(holder));
        }
        return complete ? Optional.of(List.copyOf(nodes.values())) : Optional.empty();
    }

    private void insert(String child) {
        SequentialNode.parse(child).ifPresent(node -> {
            SequentialNode known = nodes.putIfAbsent(node.sequence(), node);
            ordered = ordered && SequentialNode.isTrusted(node.sequence()) && (known == null || known.equals(node));
            if (node.demand() instanceof Demand.Permits asked) {
                maxLimit = Math.max(maxLimit, asked.limit());
            }
        });
    }

    private boolean contains(String child) {
        return SequentialNode.parse(child)
                .map(node -> node.equals(nodes.get(node.sequence())))
                .orElse(false);
    }

    private boolean hasRoom(String child) {
        long permits = 0;
        for (SequentialNode node : nodes.values()) {
            if (!(node.demand() instanceof Demand.Permits asked) || permits >= maxLimit) {
                return false;
            }
            permits += asked.permits();
            if (node.name().equals(child)) {
                return permits <= asked.limit();
            }
        }
        return false;
    }

    private List<Waiter> withRoom() {
        if (!ordered) {
            return List.copyOf(waiters.values());
        }
        List<Waiter> woken = new ArrayList<>();
        long permits = 0;
        for (SequentialNode node : nodes.values()) {
            if (!(node.demand() instanceof Demand.Permits asked) || permits >= maxLimit) {
                break;
            }
            permits += asked.permits();
            Waiter waiter = waiters.get(node.name());
            if (waiter != null && permits <= asked.limit()) {
                woken.add(waiter);
            }
        }
        return woken;
    }
}
