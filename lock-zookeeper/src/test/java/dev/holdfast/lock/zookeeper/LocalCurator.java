package dev.holdfast.lock.zookeeper;

import java.lang.reflect.Proxy;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import org.apache.curator.CuratorZookeeperClient;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.api.CuratorEvent;
import org.apache.curator.framework.api.CuratorListener;
import org.apache.curator.framework.imps.CuratorFrameworkState;
import org.apache.curator.framework.listen.Listenable;
import org.apache.curator.retry.RetryOneTime;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher.Event.EventType;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooKeeper;

/** A framework with a given handle, whose listeners get the events of a test. */
final class LocalCurator {
    final List<CuratorListener> listeners = new CopyOnWriteArrayList<>();

    /** The threads that called close. */
    final List<Thread> closers = new CopyOnWriteArrayList<>();

    /** Blocks a close until completed. */
    final CountDownLatch closing;

    volatile ZooKeeper handle;
    volatile Exception failure;
    volatile CuratorFrameworkState state = CuratorFrameworkState.STARTED;
    volatile String namespace = "";

    private final CuratorZookeeperClient client =
            new CuratorZookeeperClient("127.0.0.1:1", 60_000, 60_000, null, new RetryOneTime(1)) {
                @Override
                public ZooKeeper getZooKeeper() throws Exception {
                    if (failure != null) {
                        throw failure;
                    }
                    return handle;
                }
            };

    private final Listenable<CuratorListener> listenable = new Listenable<>() {
        @Override
        public void addListener(CuratorListener listener) {
            listeners.add(listener);
        }

        @Override
        public void addListener(CuratorListener listener, Executor executor) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void removeListener(CuratorListener listener) {
            listeners.remove(listener);
        }
    };

    private final CuratorFramework framework = (CuratorFramework) Proxy.newProxyInstance(
            CuratorFramework.class.getClassLoader(),
            new Class<?>[] {CuratorFramework.class},
            (self, method, arguments) -> switch (method.getName()) {
                case "getCuratorListenable" -> listenable;
                case "getZookeeperClient" -> client;
                case "getState" -> state;
                case "getNamespace" -> namespace;
                case "close" -> {
                    closers.add(Thread.currentThread());
                    closed().await();
                    state = CuratorFrameworkState.STOPPED;
                    yield null;
                }
                case "hashCode" -> System.identityHashCode(self);
                case "equals" -> self == arguments[0];
                case "toString" -> "LocalCurator";
                default -> throw new UnsupportedOperationException(method.getName());
            });

    LocalCurator(ZooKeeper handle) {
        this(handle, new CountDownLatch(0));
    }

    LocalCurator(ZooKeeper handle, CountDownLatch closing) {
        this.handle = handle;
        this.closing = closing;
    }

    private CountDownLatch closed() {
        return closing;
    }

    CuratorFramework framework() {
        return framework;
    }

    void tell(KeeperState news) {
        tell(new WatchedEvent(EventType.None, news, null));
    }

    /** An event of a watch, or null for another event. */
    void tell(WatchedEvent event) {
        CuratorEvent reports = (CuratorEvent) Proxy.newProxyInstance(
                CuratorEvent.class.getClassLoader(),
                new Class<?>[] {CuratorEvent.class},
                (self, method, arguments) -> method.getName().equals("getWatchedEvent") ? event : null);
        for (CuratorListener listener : listeners) {
            try {
                listener.eventReceived(framework, reports);
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }
    }
}
