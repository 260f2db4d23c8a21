package dev.holdfast.lock.zookeeper;

import dev.holdfast.lock.spi.Subscription;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;

/**
 * Tells a waiter for permits when there may be room for it. All that is ahead decides, so it watches the node of the name with all
 * its children, by one watch, which tells what was deleted; for whom that makes room, each waiter adds up by itself, without
 * a request. So a deletion calls those alone who have room then. A changed limit calls all. The queue is listed once when
 * the watch is there, and again after a reconnection, which may have missed some events.
 *
 * <p>Thread-safe: what it knows changes on the handle's event thread alone.
 */
final class LineWatch implements Watcher, Subscription {
    private final Session session;
    private final String parent;
    private final String own;
    private final Runnable onRoom;
    private volatile Set<String> children = Set.of();
    private volatile boolean known;
    private volatile boolean armed;
    private volatile boolean closed;

    /**
     * Makes it; nothing is sent yet.
     *
     * @param own the waiter's node
     * @param onRoom cheap and non-blocking
     */
    LineWatch(Session session, String parent, String own, Runnable onRoom) {
        this.session = session;
        this.parent = parent;
        this.own = own;
        this.onRoom = onRoom;
    }

    /** Begins, or goes on after a reconnection. */
    void open() {
        if (closed) {
            return;
        }
        if (!armed) {
            Futures.listen(session.watchAll(parent, this), (nothing, failure) -> {
                armed = failure == null;
                if (closed) {
                    end();
                }
            });
        }
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
        if (closed || event.getPath() == null || !event.getPath().startsWith(parent + "/")) {
            return;
        }
        String child = event.getPath().substring(parent.length() + 1);
        if (child.equals(LockTree.LIMIT)) {
            onRoom.run();
        } else if (event.getType() == Event.EventType.NodeDeleted && known && children.contains(child)) {
            Set<String> rest = new HashSet<>(children);
            rest.remove(child);
            children = rest;
            look();
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
                if (new PermitLine(queue, List.copyOf(children)).demands().hasRoom(i)) {
                    onRoom.run();
                }
                return;
            }
        }
        onRoom.run();
    }

    private void end() {
        if (session.isAlive()) {
            session.unwatchAll(parent, this);
        }
    }

    @Override
    public void close() {
        if (!closed) {
            closed = true;
            if (armed) {
                end();
            }
        }
    }
}
