package dev.holdfast.lock.zookeeper;

import dev.holdfast.lock.spi.Subscription;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;

/**
 * Tells a waiter for permits when there may be room for it. All that is ahead decides, so it hears of the node of the name with all
 * its children ({@link LineWatches}); for whom a deletion makes room, each waiter adds up by itself, without a request.
 * So a deletion calls those alone who have room then. A changed limit, which writes to the node of the name, calls all. Once when
 * the watch is there, and again after a reconnection, which may have missed some events, the queue is listed, and the waiter is
 * called if the node of the name was written to after its own was created.
 *
 * <p>Thread-safe: what it knows changes on the handle's event thread alone.
 */
final class LineWatch implements Watcher, Subscription {
    private final Session session;
    private final String parent;
    private final String own;
    private final long since;
    private final Runnable onRoom;
    private volatile Set<String> children = Set.of();
    private volatile boolean known;
    private volatile boolean closed;

    /**
     * Makes it; nothing is sent yet.
     *
     * @param own the waiter's node
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

    /** Begins, or goes on after a reconnection. */
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
                known = true;
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
        } else if (event.getType() == Event.EventType.NodeDeleted && known && path.startsWith(parent + "/")) {
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
