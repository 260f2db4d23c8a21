package dev.holdfast.lock.zookeeper.internal.session;

import dev.holdfast.lock.spi.Subscription;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;

/**
 * Reports the deletion of nodes of one session.
 *
 * <p>An ephemeral node has no children, so a watch for its children fires only when the node is deleted. Unlike a watch
 * set by {@code exists}, it is never left on a path that is already gone. Each path has at most one watch. An
 * acquisition that gives up leaves it armed, and the next waiter for the same node uses it without a request.
 * ZooKeeper's client restores armed watches after a reconnection and reports missed events.
 *
 * <p>Thread-safe.
 */
public final class DeletionWatches {

    private final ConcurrentHashMap<String, Watch> watches = new ConcurrentHashMap<>();
    private final Session session;

    DeletionWatches(Session session) {
        this.session = session;
    }

    /**
     * Watches a node.
     *
     * @param gone called once when the node is deleted or found not to exist; must be short and must not block
     * @return ends the notification
     */
    public Subscription watch(String path, Runnable gone) {
        Once listener = new Once(gone);
        Watch watch = watches.computeIfAbsent(path, Watch::new);
        watch.listeners.add(listener);
        if (watch.fired) {
            watch.listeners.remove(listener);
            listener.run();
        } else {
            watch.arm();
        }
        return () -> watch.listeners.remove(listener);
    }

    /** Whether the deletion of the node is certain to be reported. */
    public boolean isArmed(String path) {
        Watch watch = watches.get(path);
        return watch != null && watch.state == State.ARMED && !watch.fired && session.restoresWatches();
    }

    /** After a reconnection: sets the watches that could not be set before. */
    public void rearm() {
        watches.values().forEach(Watch::rearm);
    }

    public int size() {
        return watches.size();
    }

    private enum State {
        NEW,
        ARMING,
        ARMED
    }

    private record Once(Runnable action) implements Runnable {
        @Override
        public void run() {
            action.run();
        }

        @Override
        public boolean equals(Object other) {
            return this == other;
        }

        @Override
        public int hashCode() {
            return System.identityHashCode(this);
        }
    }

    private final class Watch implements Watcher {
        private final String path;
        private final Set<Once> listeners = ConcurrentHashMap.newKeySet();
        private volatile State state = State.NEW;
        private volatile boolean fired;

        Watch(String path) {
            this.path = path;
        }

        /** Two threads may both send the request. That is harmless: the watch is the same. */
        void arm() {
            if (state != State.NEW) {
                return;
            }
            state = State.ARMING;
            StageHelpers.listen(session.watch(path, this), (children, failure) -> {
                if (failure == null) {
                    state = State.ARMED;
                } else if (ZooKeeperFailures.is(failure, Code.NONODE)) {
                    fire();
                } else {
                    state = State.NEW;
                }
            });
        }

        public void rearm() {
            if (state == State.NEW && listeners.isEmpty()) {
                watches.remove(path, this);
            } else {
                arm();
            }
        }

        @Override
        public void process(WatchedEvent event) {
            switch (event.getType()) {
                case NodeDeleted -> fire();
                case NodeChildrenChanged, ChildWatchRemoved -> {
                    state = State.NEW;
                    arm();
                }
                default -> {
                    // Session events arrive through the framework's listener.
                }
            }
        }

        private void fire() {
            watches.remove(path, this);
            fired = true;
            for (Once listener : List.copyOf(listeners)) {
                if (listeners.remove(listener)) {
                    listener.run();
                }
            }
        }
    }
}
