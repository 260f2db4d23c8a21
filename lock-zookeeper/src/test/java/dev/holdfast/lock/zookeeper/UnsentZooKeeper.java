package dev.holdfast.lock.zookeeper;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.zookeeper.AddWatchMode;
import org.apache.zookeeper.AsyncCallback;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Stat;

/**
 * A connected handle that sends nothing: it records requests and answers them at once or when a test asks for it. Not
 * thread-safe, except for {@link #requests}.
 */
public final class UnsentZooKeeper extends ZooKeeper {
    static final long SESSION = 42;
    public static final long CZXID = 7;

    /** The requests in their order, such as {@code "sync /a"}. */
    public final List<String> requests = new CopyOnWriteArrayList<>();

    /** The answers to listings; the last one stays. */
    public final Deque<List<String>> children = new ArrayDeque<>(List.of(List.of()));

    /** The answers to readings; empty: there is no such node. The last one stays. */
    public final Deque<String> data = new ArrayDeque<>(List.of(""));

    /** The last watch that was set, by path. */
    public final Map<String, Watcher> watchers = new HashMap<>();

    private final Map<String, Code> refusals = new HashMap<>();
    private final List<Runnable> answers = new ArrayList<>();
    private boolean holding;

    public UnsentZooKeeper() throws IOException {
        super(LocalZooKeeper.nowhere(), 1_000, event -> {});
        LocalZooKeeper.endOf(cnxn);
    }

    /** The requests with that prefix. */
    public List<String> requests(String start) {
        return requests.stream().filter(each -> each.startsWith(start)).toList();
    }

    /** From now on, such a request gets this answer. */
    public void answer(String request, Code code) {
        refusals.put(request, code);
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

    private interface Answer {
        void with(int code);
    }

    private void asked(String request, Answer answer) {
        requests.add(request);
        Runnable now = () -> answer.with(refusals.getOrDefault(request, Code.OK).intValue());
        if (holding) {
            answers.add(now);
        } else {
            now.run();
        }
    }

    private static Stat stat() {
        Stat stat = new Stat();
        stat.setCzxid(CZXID);
        stat.setEphemeralOwner(SESSION);
        return stat;
    }

    @Override
    public States getState() {
        return States.CONNECTED;
    }

    @Override
    public long getSessionId() {
        return SESSION;
    }

    /** A minimal value, so that later ones are longer. */
    @Override
    public int getSessionTimeout() {
        return 1;
    }

    @Override
    public void create(
            String path,
            byte[] data,
            List<ACL> acl,
            CreateMode mode,
            AsyncCallback.Create2Callback callback,
            Object context) {
        asked("create " + path, code -> callback.processResult(code, path, context, path, stat()));
    }

    @Override
    public void delete(String path, int version, AsyncCallback.VoidCallback callback, Object context) {
        asked("delete " + path, code -> callback.processResult(code, path, context));
    }

    @Override
    public void exists(String path, boolean watch, AsyncCallback.StatCallback callback, Object context) {
        asked("exists " + path, code -> callback.processResult(code, path, context, stat()));
    }

    @Override
    public void getData(String path, boolean watch, AsyncCallback.DataCallback callback, Object context) {
        String read = data.size() > 1 ? data.remove() : data.element();
        asked(
                "read " + path,
                code -> callback.processResult(
                        read.isEmpty() ? Code.NONODE.intValue() : code,
                        path,
                        context,
                        read.getBytes(StandardCharsets.UTF_8),
                        stat()));
    }

    @Override
    public void getChildren(String path, boolean watch, AsyncCallback.ChildrenCallback callback, Object context) {
        List<String> listed = children.size() > 1 ? children.remove() : children.element();
        asked("list " + path, code -> callback.processResult(code, path, context, listed));
    }

    @Override
    public void getChildren(String path, Watcher watcher, AsyncCallback.ChildrenCallback callback, Object context) {
        watchers.put(path, watcher);
        asked("watch " + path, code -> callback.processResult(code, path, context, List.of()));
    }

    @Override
    public void sync(String path, AsyncCallback.VoidCallback callback, Object context) {
        asked("sync " + path, code -> callback.processResult(code, path, context));
    }

    @Override
    public void addWatch(
            String path, Watcher watcher, AddWatchMode mode, AsyncCallback.VoidCallback callback, Object context) {
        watchers.put(path, watcher);
        asked("watch all " + path, code -> callback.processResult(code, path, context));
    }

    @Override
    public void removeAllWatches(
            String path, Watcher.WatcherType type, boolean local, AsyncCallback.VoidCallback callback, Object context) {
        asked("unwatch " + path, code -> callback.processResult(code, path, context));
    }

    @Override
    public void removeWatches(
            String path,
            Watcher watcher,
            Watcher.WatcherType type,
            boolean local,
            AsyncCallback.VoidCallback callback,
            Object context) {
        asked("unwatch one " + path, code -> callback.processResult(code, path, context));
    }

    @Override
    public void multi(Iterable<Op> operations, AsyncCallback.MultiCallback callback, Object context) {
        List<OpResult> results = new ArrayList<>();
        operations.forEach(operation -> results.add(new OpResult.CheckResult()));
        asked("multi", code -> callback.processResult(code, null, context, results));
    }
}
