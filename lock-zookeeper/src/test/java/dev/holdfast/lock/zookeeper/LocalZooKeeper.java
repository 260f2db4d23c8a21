package dev.holdfast.lock.zookeeper;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.apache.zookeeper.AddWatchMode;
import org.apache.zookeeper.AsyncCallback;
import org.apache.zookeeper.ClientCnxn;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.Watcher.Event.EventType;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.ACL;

/**
 * A handle of a session on a {@link LocalTree}. It records requests, executes and answers them on the calling thread,
 * unless a test delays that, and calls its watchers.
 */
public final class LocalZooKeeper extends ZooKeeper {
    private static final AtomicLong SESSIONS = new AtomicLong(100);

    /** Accepts connections without answering, since a refused connection would be logged as a warning. */
    private static final ServerSocket SILENT = silent();

    /** The faults of requests. */
    public enum Fault {
        /** Executed, but the answer is lost. */
        ANSWER_LOST,
        /** Not executed. */
        REQUEST_LOST
    }

    /** The requests in their order, such as {@code "sync /a"}. */
    public final List<String> requests = new CopyOnWriteArrayList<>();

    /** Called with the path of each node that this session has created, before the answer. */
    public volatile Consumer<String> onCreated = path -> {};

    /** Called with each request before its execution. */
    public volatile Consumer<String> onRequest = request -> {};

    public volatile int sessionMillis = 60_000;
    public volatile States state = States.CONNECTED;

    private final LocalTree tree;
    private final long session = SESSIONS.incrementAndGet();
    private final Map<String, Object> faults = new ConcurrentHashMap<>();
    private final Map<String, List<Watcher>> once = new ConcurrentHashMap<>();
    private final Map<String, Watcher> lines = new ConcurrentHashMap<>();
    private final List<Runnable> answers = new CopyOnWriteArrayList<>();
    private volatile boolean holding;

    public LocalZooKeeper(LocalTree tree) throws IOException {
        super(nowhere(), 1_000, event -> {});
        endOf(cnxn);
        this.tree = tree;
        tree.handles.add(this);
    }

    private static ServerSocket silent() {
        try {
            return new ServerSocket(0, 4_096, InetAddress.getLoopbackAddress());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The address of handles that must not send anything. */
    public static String nowhere() {
        return "127.0.0.1:" + SILENT.getLocalPort();
    }

    /** Closes a handle that must not send anything. That takes a tenth of a second, for which no test waits. */
    public static void endOf(ClientCnxn connection) {
        Thread end = new Thread(connection::disconnect, "local-zookeeper-end");
        end.setDaemon(true);
        end.start();
    }

    /** From now on, requests with that prefix have that fault. */
    public void fail(String start, Fault fault) {
        faults.put(start, fault);
    }

    /** From now on, requests with that prefix are refused. */
    public void refuse(String start, Code code) {
        faults.put(start, code);
    }

    /** From now on, requests succeed. */
    public void heal() {
        faults.clear();
    }

    /** From now on, nothing is answered before {@link #answerAll}. */
    public void hold() {
        holding = true;
    }

    public void answerAll() {
        holding = false;
        List<Runnable> held = List.copyOf(answers);
        answers.clear();
        held.forEach(Runnable::run);
    }

    /** The requests with that prefix. */
    public List<String> requests(String start) {
        return requests.stream().filter(each -> each.startsWith(start)).toList();
    }

    /** Whether a watch reports the deletion of that node. */
    boolean isWatched(String path) {
        return once.containsKey(path);
    }

    public boolean isLineWatched(String path) {
        return lines.containsKey(path);
    }

    /** The servers end the session. */
    public void expire() {
        state = States.CLOSED;
        tree.handles.remove(this);
        tree.end(session);
    }

    void tell(EventType type, String path) {
        WatchedEvent event = new WatchedEvent(type, KeeperState.SyncConnected, path);
        if (type == EventType.NodeDeleted) {
            List<Watcher> reports = once.remove(path);
            if (reports != null) {
                reports.forEach(watcher -> watcher.process(event));
            }
        }
        Map.copyOf(lines).forEach((line, watcher) -> {
            if (path.equals(line) || path.startsWith(line + "/")) {
                watcher.process(event);
            }
        });
    }

    private interface Answer {
        void with(LocalTree.Outcome outcome);
    }

    private void asked(String request, String path, Supplier<LocalTree.Outcome> work, Answer answer) {
        requests.add(request);
        onRequest.accept(request);
        Object fault = faults.entrySet().stream()
                .filter(each -> request.startsWith(each.getKey()))
                .map(Map.Entry::getValue)
                .findFirst()
                .orElse(null);
        LocalTree.Outcome outcome =
                fault == null || fault == Fault.ANSWER_LOST ? work.get() : LocalTree.Outcome.refused(Code.OK, path);
        LocalTree.Outcome answered = fault == null
                ? outcome
                : LocalTree.Outcome.refused(fault instanceof Code code ? code : Code.CONNECTIONLOSS, path);
        Runnable now = () -> answer.with(answered);
        if (holding) {
            answers.add(now);
        } else {
            now.run();
        }
    }

    private LocalTree.Outcome find(String path) {
        LocalTree.Node node = tree.nodes.get(path);
        return node == null
                ? LocalTree.Outcome.refused(Code.NONODE, path)
                : new LocalTree.Outcome(Code.OK, path, LocalTree.copy(node.stat), List.of());
    }

    @Override
    public States getState() {
        return state;
    }

    @Override
    public long getSessionId() {
        return session;
    }

    @Override
    public int getSessionTimeout() {
        return sessionMillis;
    }

    @Override
    public void create(
            String path,
            byte[] data,
            List<ACL> acl,
            CreateMode mode,
            AsyncCallback.Create2Callback callback,
            Object context) {
        asked(
                "create " + mode + " " + path,
                path,
                () -> {
                    LocalTree.Outcome outcome = tree.create(path, data, acl, mode, session);
                    if (outcome.code() == Code.OK) {
                        onCreated.accept(outcome.path());
                    }
                    return outcome;
                },
                outcome -> callback.processResult(
                        outcome.code().intValue(), path, context, outcome.path(), outcome.stat()));
    }

    @Override
    public void delete(String path, int version, AsyncCallback.VoidCallback callback, Object context) {
        asked(
                "delete " + path,
                path,
                () -> tree.delete(path),
                outcome -> callback.processResult(outcome.code().intValue(), path, context));
    }

    @Override
    public void exists(String path, boolean watch, AsyncCallback.StatCallback callback, Object context) {
        asked(
                "exists " + path,
                path,
                () -> find(path),
                outcome -> callback.processResult(outcome.code().intValue(), path, context, outcome.stat()));
    }

    @Override
    public void getData(String path, boolean watch, AsyncCallback.DataCallback callback, Object context) {
        AtomicReference<byte[]> data = new AtomicReference<>();
        asked(
                "read " + path,
                path,
                () -> {
                    LocalTree.Outcome found = find(path);
                    data.set(found.code() == Code.OK ? tree.nodes.get(path).data : null);
                    return found;
                },
                outcome -> callback.processResult(
                        outcome.code().intValue(),
                        path,
                        context,
                        outcome.code() == Code.OK ? data.get() : null,
                        outcome.stat()));
    }

    @Override
    public void getChildren(String path, boolean watch, AsyncCallback.ChildrenCallback callback, Object context) {
        AtomicReference<List<String>> children = new AtomicReference<>();
        asked(
                "list " + path,
                path,
                () -> {
                    children.set(tree.children(path));
                    return find(path);
                },
                outcome -> callback.processResult(
                        outcome.code().intValue(), path, context, outcome.code() == Code.OK ? children.get() : null));
    }

    @Override
    public void getChildren(String path, Watcher watcher, AsyncCallback.ChildrenCallback callback, Object context) {
        asked(
                "watch " + path,
                path,
                () -> {
                    LocalTree.Outcome found = find(path);
                    if (found.code() == Code.OK) {
                        once.computeIfAbsent(path, each -> new CopyOnWriteArrayList<>())
                                .add(watcher);
                    }
                    return found;
                },
                outcome -> callback.processResult(
                        outcome.code().intValue(), path, context, outcome.code() == Code.OK ? List.of() : null));
    }

    @Override
    public void sync(String path, AsyncCallback.VoidCallback callback, Object context) {
        asked(
                "sync " + path,
                path,
                () -> LocalTree.Outcome.refused(Code.OK, path),
                outcome -> callback.processResult(outcome.code().intValue(), path, context));
    }

    @Override
    public void addWatch(
            String path, Watcher watcher, AddWatchMode mode, AsyncCallback.VoidCallback callback, Object context) {
        asked(
                "watch all " + path,
                path,
                () -> {
                    lines.put(path, watcher);
                    return LocalTree.Outcome.refused(Code.OK, path);
                },
                outcome -> callback.processResult(outcome.code().intValue(), path, context));
    }

    @Override
    public void removeAllWatches(
            String path, Watcher.WatcherType type, boolean local, AsyncCallback.VoidCallback callback, Object context) {
        asked(
                "unwatch " + path,
                path,
                () -> {
                    lines.remove(path);
                    return LocalTree.Outcome.refused(Code.OK, path);
                },
                outcome -> callback.processResult(outcome.code().intValue(), path, context));
    }

    @Override
    public void removeWatches(
            String path,
            Watcher watcher,
            Watcher.WatcherType type,
            boolean local,
            AsyncCallback.VoidCallback callback,
            Object context) {
        asked(
                "unwatch one " + path,
                path,
                () -> {
                    lines.remove(path);
                    return LocalTree.Outcome.refused(Code.OK, path);
                },
                outcome -> callback.processResult(outcome.code().intValue(), path, context));
    }

    @Override
    public void multi(Iterable<Op> operations, AsyncCallback.MultiCallback callback, Object context) {
        List<String> paths = new ArrayList<>();
        operations.forEach(operation -> paths.add(operation.getPath()));
        asked(
                "multi " + String.join(" ", paths),
                paths.get(0),
                () -> tree.transact(operations),
                outcome -> callback.processResult(outcome.code().intValue(), null, context, outcome.results()));
    }
}
