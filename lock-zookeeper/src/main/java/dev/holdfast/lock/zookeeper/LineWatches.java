package dev.holdfast.lock.zookeeper;

import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;

/**
 * Watches nodes with all their children. All listeners of a path share one watch, which is removed from the server with
 * the last listener. ZooKeeper's client restores armed watches after a reconnection but does not report missed events.
 *
 * <p>Thread-safe. Requests are sent while holding the mutex, so that the server sees them in order. ZooKeeper's client
 * only queues them.
 */
final class LineWatches {
    private final Session session;
    private final ReentrantLock mutex = new ReentrantLock();
    private final Map<String, Line> lines = new HashMap<>();

    LineWatches(Session session) {
        this.session = session;
    }

    /** Adds a listener; adding it twice is harmless. Sets the watch if that failed before. */
    void add(String path, Watcher listener) {
        mutex.lock();
        try {
            Line line = lines.computeIfAbsent(path, key -> new Line());
            line.listeners.add(listener);
            if (!line.armed) {
                line.armed = true;
                Futures.listen(session.watchAll(path, line), (nothing, failure) -> {
                    if (failure != null) {
                        disarmed(line);
                    }
                });
            }
        } finally {
            mutex.unlock();
        }
    }

    private void disarmed(Line line) {
        mutex.lock();
        try {
            line.armed = false;
        } finally {
            mutex.unlock();
        }
    }

    /** Removes a listener. */
    void remove(String path, Watcher listener) {
        mutex.lock();
        try {
            Line line = lines.get(path);
            if (line == null || !line.listeners.remove(listener) || !line.listeners.isEmpty()) {
                return;
            }
            lines.remove(path);
            if (line.armed && session.isAlive()) {
                session.unwatchAll(path);
            }
        } finally {
            mutex.unlock();
        }
    }

    private List<Watcher> listeners(Line line) {
        mutex.lock();
        try {
            return List.copyOf(line.listeners);
        } finally {
            mutex.unlock();
        }
    }

    private final class Line implements Watcher {
        private final Set<Watcher> listeners = new LinkedHashSet<>();
        private boolean armed;

        @Override
        public void process(WatchedEvent event) {
            listeners(this).forEach(listener -> listener.process(event));
        }
    }
}
