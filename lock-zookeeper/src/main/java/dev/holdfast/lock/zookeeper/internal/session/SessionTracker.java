package dev.holdfast.lock.zookeeper.internal.session;

import dev.holdfast.lock.LockUnavailableException;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.api.CuratorEvent;
import org.apache.curator.framework.api.CuratorListener;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher.Event.EventType;
import org.apache.zookeeper.ZooKeeper;
import org.jspecify.annotations.Nullable;

/**
 * Follows the framework from session to session. It receives the events of ZooKeeper's client directly on the event
 * thread. The framework's own connection states arrive later, through a queue.
 *
 * <p>Thread-safe.
 */
public final class SessionTracker implements CuratorListener {

    /** Receives session events; called on the event thread or on a caller's. */
    public interface Observer {
        /** The connection is lost or leads to a server without a quorum; the session may end at any time. */
        void suspended(Session session, String detail);

        /** The session is connected, for the first time or again. */
        void connected(Session session);

        /** The session has ended; called once. */
        void ended(Session session, String detail);
    }

    private final CuratorFramework client;
    private final Observer observer;
    private final boolean shared;
    private final AtomicReference<@Nullable Session> current = new AtomicReference<>();
    private final HandleReplacement replacements;

    /**
     * Creates it.
     *
     * @param shared whether the framework belongs to the application
     */
    public SessionTracker(CuratorFramework client, boolean shared, Observer observer) {
        this.client = client;
        this.shared = shared;
        this.observer = observer;
        this.replacements = new HandleReplacement(client, session -> end(session, HandleReplacement.WHY));
    }

    public void start() {
        client.getCuratorListenable().addListener(this);
    }

    public void stop() {
        client.getCuratorListenable().removeListener(this);
    }

    /**
     * Returns the framework's current session, connected or not.
     *
     * @throws LockUnavailableException if there is none at the moment, or ZooKeeper's client has to be replaced
     * @throws IllegalStateException if the framework is not started or is closed
     */
    public Session current() {
        ZooKeeper zk = handle();
        while (true) {
            Session session = current.get();
            if (session != null && session.handle() == zk) {
                return shared ? session : answering(session);
            }
            if (!zk.getState().isAlive()) {
                throw new LockUnavailableException("the ZooKeeper session has just ended; try again with the next one");
            }
            Session next = new Session(zk, shared);
            if (current.compareAndSet(session, next)) {
                end(session, "the session was replaced by a new one");
                return next;
            }
        }
    }

    /** Returns the session if ZooKeeper's client answers its requests; otherwise it is replaced. */
    private Session answering(Session session) {
        replaceIfDeaf();
        if (session.isEnded()) {
            throw new LockUnavailableException(
                    "ZooKeeper's client answers nothing any more and is replaced; try again with the next session");
        }
        return session;
    }

    /** Begins to replace ZooKeeper's client if it answers nothing any more. */
    public void replaceIfDeaf() {
        Session session = current.get();
        if (session != null && !shared && (session.isEnded() || session.isDeaf())) {
            replacements.begin(session);
        }
    }

    @Override
    public void eventReceived(CuratorFramework framework, CuratorEvent event) {
        WatchedEvent watched = event.getWatchedEvent();
        if (watched == null || watched.getType() != EventType.None) {
            return;
        }
        switch (watched.getState()) {
            case SyncConnected -> {
                Session session = current();
                session.connected(true);
                observer.connected(session);
            }
            case Expired, Closed -> endDead("the server has ended the session: " + watched.getState());
            case Disconnected, ConnectedReadOnly, AuthFailed -> {
                Session session = current.get();
                if (session != null) {
                    session.connected(false);
                    observer.suspended(session, "the connection's state is " + watched.getState());
                }
            }
            default -> {
                // Authentication succeeded.
            }
        }
    }

    private void endDead(String detail) {
        Session session = current.get();
        if (session != null && !session.handle().getState().isAlive()) {
            current.compareAndSet(session, null);
            end(session, detail);
        }
    }

    private void end(@Nullable Session session, String detail) {
        if (session != null && session.end()) {
            observer.ended(session, detail);
        }
    }

    private ZooKeeper handle() {
        try {
            ZooKeeper zk = client.getZookeeperClient().getZooKeeper();
            if (zk == null) {
                throw new IllegalStateException("the CuratorFramework has no ZooKeeper handle");
            }
            return zk;
        } catch (IllegalStateException e) {
            throw e;
        } catch (Exception e) {
            throw new LockUnavailableException(
                    "cannot get a ZooKeeper handle: " + e.getMessage() + "; check the connect string and the network",
                    e);
        }
    }
}
