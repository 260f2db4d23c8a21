package dev.holdfast.lock.zookeeper;

import dev.holdfast.lock.spi.Subscription;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;

/**
 * Notifies a waiter for permits when there may be room for it.
 *
 * <p>Room depends on all nodes ahead, so the waiter follows the node of the name and all its children ({@link
 * LineWatches}). Each waiter computes by itself, without a request, whether a deletion makes room for it. So a deletion
 * wakes only those waiters that have room. A changed limit writes to the node of the name and wakes all waiters.
 *
 * <p>The queue is listed once when the watch is set, and again after a reconnection, because events may have been
 * missed. The waiter is also woken if the node of the name was written after the waiter's own node was created.
 *
 * <p>Thread-safe: the list of children changes only on the event thread of ZooKeeper's client.
 */
final class LineWatch implements Watcher, Subscription {
    private final Session session;
    private final String parent;
    private final String own;
    private final long since;
    private final Runnable onRoom;
    private volatile Set<String> children = Set.of();
    private volatile boolean ready;
    private volatile boolean closed;

    /**
     * Creates the watch without a request.
     *
     * @param own the name of the waiter's node
     * @param since its czxid
     * @param onRoom cheap and non-blocking
     */
    LineWatch(Session session, String parent, String own, long since, Runnable onRoom) {
        this.session = session;
        this.parent = parent;
        this.own = own;
        this.since = since;
        this.onRoom = onRoom;
    }

    /** Starts watching, or resumes after a reconnection. */
    void open() {
        session.lines().add(parent, this);
        if (closed) {
            session.lines().remove(parent, this);
            return;
        }
        Futures.listen(session.exists(parent), (stat, failure) -> {
            if (failure == null && stat.getMzxid() > since) {
                onRoom.run();
            }
        });
        Futures.listen(session.children(parent), (listed, failure) -> {
            if (failure == null) {
                children = Set.copyOf(listed);
                ready = true;
                look();
            }
        });
    }

    @Override
    public void process(WatchedEvent event) {
        String path = event.getPath();
        if (closed || path == null) {
            return;
        }
        if (event.getType() == Event.EventType.NodeDataChanged && path.equals(parent)) {
            onRoom.run();
        } else if (event.getType() == Event.EventType.NodeDeleted && ready && path.startsWith(parent + "/")) {
            String child = path.substring(parent.length() + 1);
            if (children.contains(child)) {
                Set<String> rest = new HashSet<>(children);
                rest.remove(child);
                children = rest;
                look();
            }
        }
    }

    private void look() {
        List<SequentialNode> queue = SequentialNode.of(List.copyOf(children));
        if (!SequentialNode.isOrdered(queue)) {
            onRoom.run();
            return;
        }
        for (int i = 0; i < queue.size(); i++) {
            if (queue.get(i).name().equals(own)) {
                if (new PermitLine(queue, PermitBook.NONE).demands().hasRoom(i)) {
                    onRoom.run();
                }
                return;
            }
        }
        onRoom.run();
    }

    @Override
    public void close() {
        closed = true;
        session.lines().remove(parent, this);
    }
}
