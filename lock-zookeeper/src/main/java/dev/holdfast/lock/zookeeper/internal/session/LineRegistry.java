package dev.holdfast.lock.zookeeper.internal.session;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.zookeeper.internal.session.NameLine.Waiter;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.function.Supplier;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;
import org.jspecify.annotations.Nullable;

/**
 * The queues in which this session waits for permits. One watch of the node of the name and all its children follows
 * each queue for all waiters of the session; the last waiter that leaves ends it.
 *
 * <p>The queue is listed once when the watch is set, again after a reconnection, because events may have been missed, and
 * at most every {@value #REFRESH_SECONDS} s when a waiter polls. A deletion notifies only those waiters that have room. A
 * changed limit writes to the node of the name and notifies all waiters.
 *
 * <p>Thread-safe. Requests are sent while holding the mutex, so that the server sees them in order. ZooKeeper's client
 * only queues them. Waiters are notified without the mutex.
 */
public final class LineRegistry {
    private static final int REFRESH_SECONDS = 5;
    /** A write whose zxid is not known yet. */
    private static final long JUST_NOW = Long.MAX_VALUE;

    private final Session session;
    private final ReentrantLock mutex = new ReentrantLock();
    private final Map<String, Line> lines = new HashMap<>();

    LineRegistry(Session session) {
        this.session = session;
    }

    /**
     * Notifies a waiter when there may be room for it, or its limit may have changed.
     *
     * @param parent the node of the name
     * @param child the name of the waiter's node
     * @param since its czxid
     * @param onRoom cheap and non-blocking
     * @return ends the notification
     */
    public Subscription listen(String parent, String child, long since, Runnable onRoom) {
        Waiter waiter = new Waiter(since, onRoom);
        boolean now = locked(() -> {
            Line line = lines.computeIfAbsent(parent, Line::new);
            line.queue.add(child, waiter);
            if (!line.armed) {
                line.arm();
                line.list();
            }
            return line.queue.isReady() && (line.written > since || !line.queue.isFull(child));
        });
        if (now) {
            onRoom.run();
        }
        return () -> locked(() -> {
            Line line = lines.get(parent);
            if (line != null) {
                line.queue.remove(child, waiter);
                if (!line.queue.hasWaiters()) {
                    lines.remove(parent);
                    line.disarm();
                }
            }
            return true;
        });
    }

    /** Whether the node certainly has to wait for an event, which {@link #listen} reports. */
    public boolean isFull(String parent, String child) {
        return followed(parent, line -> line.isFull(child)).orElse(false);
    }

    /** Whether a node that is created now certainly has to wait for an event. */
    public boolean isFull(String parent, Demand.Permits asked) {
        return followed(parent, line -> line.isFull(asked)).orElse(false);
    }

    /**
     * The queue at the time when the permits were read that name these holders; empty if only a listing can show it.
     *
     * @param child a node of this session
     */
    public Optional<List<SequentialNode>> queue(String parent, String child, Set<String> holders) {
        return followed(parent, line -> line.queue(child, holders)).flatMap(queue -> queue);
    }

    private <T> Optional<T> followed(String parent, Function<NameLine, T> question) {
        return locked(() -> {
            Line line = lines.get(parent);
            if (line == null || !session.isConnected()) {
                return Optional.empty();
            }
            line.refresh();
            return line.armed ? Optional.of(question.apply(line.queue)) : Optional.empty();
        });
    }

    /** After a reconnection: lists all queues again. */
    public void resume() {
        locked(() -> {
            List.copyOf(lines.values()).forEach(line -> {
                line.queue.outdated();
                if (!line.armed) {
                    line.arm();
                }
                line.list();
            });
            return true;
        });
    }

    private <T> T locked(Supplier<T> action) {
        mutex.lock();
        try {
            return action.get();
        } finally {
            mutex.unlock();
        }
    }

    /** Guarded by the mutex, except for its events and answers, which come on the event thread. */
    private final class Line implements Watcher {
        private final String parent;
        private final NameLine queue = new NameLine();
        private boolean armed;
        /** The zxid of the last write to the node of the name, which is a change of the limit; 0 if not read yet. */
        private long written;

        private long listedNanos;
        /** Counts listings, so that an answer to an earlier one than the last changes nothing. */
        private int listings;

        Line(String parent) {
            this.parent = parent;
        }

        void arm() {
            armed = true;
            StageHelpers.listen(session.watchAll(parent, this), (nothing, failure) -> {
                if (failure != null) {
                    locked(() -> armed = false);
                }
            });
        }

        void disarm() {
            if (armed && session.isAlive()) {
                session.unwatchAll(parent, this);
            }
        }

        void refresh() {
            if (System.nanoTime() - listedNanos > TimeUnit.SECONDS.toNanos(REFRESH_SECONDS)) {
                if (!armed) {
                    arm();
                }
                list();
            }
        }

        void list() {
            int mine = ++listings;
            listedNanos = System.nanoTime();
            queue.listingSent();
            readWritten();
            StageHelpers.listen(
                    session.children(parent),
                    (children, failure) -> notify(() -> {
                        if (mine != listings) {
                            return List.of();
                        }
                        if (failure != null) {
                            queue.listingFailed();
                            return List.of();
                        }
                        return queue.listed(children);
                    }));
        }

        /** A waiter may have read the limit before a change and subscribed after its event. */
        private void readWritten() {
            StageHelpers.listen(
                    session.exists(parent),
                    (stat, failure) -> notify(() -> {
                        if (failure != null) {
                            return List.of();
                        }
                        boolean later = stat.getMzxid() > written;
                        written = stat.getMzxid();
                        return later ? queue.waitersBefore(written) : List.of();
                    }));
        }

        private void notify(Supplier<List<Waiter>> action) {
            locked(action).forEach(waiter -> waiter.onRoom().run());
        }

        @Override
        public void process(WatchedEvent event) {
            String path = event.getPath();
            if (path == null) {
                return;
            }
            notify(() -> lines.get(parent) == this ? happened(event.getType(), child(path)) : List.of());
        }

        /** The name of a child; null for the node of the name itself. */
        private @Nullable String child(String path) {
            return path.startsWith(parent + "/") ? path.substring(parent.length() + 1) : null;
        }

        private List<Waiter> happened(Event.EventType type, @Nullable String child) {
            switch (type) {
                case NodeCreated -> {
                    if (child != null) {
                        queue.created(child);
                    }
                }
                case NodeDeleted -> {
                    if (child != null) {
                        return queue.deleted(child);
                    }
                }
                case NodeDataChanged -> {
                    if (child == null) {
                        written = JUST_NOW;
                        readWritten();
                        return queue.waitersBefore(JUST_NOW);
                    }
                }
                case PersistentWatchRemoved -> {
                    // Another program that shares the framework removed all watches of this path.
                    queue.outdated();
                    arm();
                    list();
                }
                default -> {
                    // Session events arrive through the framework's listener.
                }
            }
            return List.of();
        }
    }
}
