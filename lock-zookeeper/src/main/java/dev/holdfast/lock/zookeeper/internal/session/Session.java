package dev.holdfast.lock.zookeeper.internal.session;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.apache.zookeeper.AddWatchMode;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.client.ZKClientConfig;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Stat;
import org.jspecify.annotations.Nullable;

/**
 * One session with ZooKeeper: its requests, and how long it is certain to live.
 *
 * <p><b>Order.</b> Requests bypass Curator's background operations, which may retry out of order, and use ZooKeeper's
 * client directly. The servers answer the requests of a session in the order in which they were sent. So requests that
 * do not depend on each other's replies are sent back to back.
 *
 * <p><b>What is certain.</b> With a session time-out of T, the leader closes the session no earlier than T after the
 * last sign of life that reached it. Signs of life reach it through the server that the client is connected to. That
 * server answers reads and pings by itself, even for a while after it was cut off from the leader, so a read proves
 * nothing. A write is acknowledged by a quorum. Then the present leader and any later one have a sign of life that is
 * at most half a tick older than the client's last packet before the write. The client sends a packet (a ping) after
 * T/3 of silence, less a second. Therefore two thirds of T are certain, counted from when the latest acknowledged write
 * was sent, even if this client and its server are cut off together a moment later. ZooKeeper's own client also gives
 * up the connection after that time.
 *
 * <p>Thread-safe. Stages complete on the event thread of ZooKeeper's client.
 */
public final class Session {

    public record Created(String path, long czxid) {}

    public record Data(byte[] bytes, Stat stat) {}

    private final ZooKeeper zk;
    private final boolean shared;
    private final DeletionWatches watches;
    private final LineRegistry lines = new LineRegistry(this);
    private final LowestNodeProof lowestNodes = new LowestNodeProof();
    private final Listings listings = new Listings(this::list, this::exists, System::nanoTime);
    private final AtomicLong lastAcknowledged = new AtomicLong();
    private volatile boolean acknowledged;
    private volatile boolean connected;
    private final AtomicBoolean ended = new AtomicBoolean();
    private final Unanswered unanswered = new Unanswered();

    /**
     * Creates it.
     *
     * @param shared whether the handle belongs to the application, which may have watches of its own
     */
    public Session(ZooKeeper zk, boolean shared) {
        this.zk = zk;
        this.shared = shared;
        this.connected = zk.getState() == ZooKeeper.States.CONNECTED;
        this.watches = new DeletionWatches(this);
    }

    public ZooKeeper handle() {
        return zk;
    }

    public DeletionWatches watches() {
        return watches;
    }

    public LineRegistry lines() {
        return lines;
    }

    public LowestNodeProof lowestNodes() {
        return lowestNodes;
    }

    public long id() {
        return zk.getSessionId();
    }

    /** Whether the last event was a connection. A server without a quorum (read-only mode) does not count. */
    public boolean isConnected() {
        return connected && zk.getState() == ZooKeeper.States.CONNECTED;
    }

    public void connected(boolean now) {
        connected = now;
    }

    /** Whether the session may still exist on the servers. */
    public boolean isAlive() {
        return !ended.get() && zk.getState().isAlive();
    }

    /** Whether it was ended here. */
    boolean isEnded() {
        return ended.get();
    }

    /**
     * Whether ZooKeeper's client answers nothing any more, although its state shows a living session: one of its threads
     * has ended, as after an {@link OutOfMemoryError}.
     */
    boolean isDeaf() {
        return zk.getState().isAlive() && unanswered.isDeaf(2L * zk.getSessionTimeout());
    }

    /** Fails all requests without an answer, which would never come. */
    void failAll() {
        unanswered.failAll();
    }

    private <T> CompletableFuture<T> reply() {
        return unanswered.begin();
    }

    /** Ends the session; returns true on the first call only. */
    public boolean end() {
        connected = false;
        return ended.compareAndSet(false, true);
    }

    /**
     * The time for which the session is certain to live, counted from when an acknowledged write was sent; see the
     * class. Zero if unknown.
     */
    public long certainMillis() {
        return zk.getSessionTimeout() * 2L / 3;
    }

    /** The session time-out that the servers granted, in milliseconds. */
    int timeoutMillis() {
        return zk.getSessionTimeout();
    }

    /**
     * The age of the latest acknowledged write, counted from its sending and rounded up; {@link Long#MAX_VALUE} if
     * there was none.
     */
    public long acknowledgedAgeMillis() {
        if (!acknowledged) {
            return Long.MAX_VALUE;
        }
        return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - lastAcknowledged.get()) + 1;
    }

    private void acknowledged(long sentNanos) {
        if (acknowledged) {
            lastAcknowledged.accumulateAndGet(sentNanos, (last, now) -> now - last > 0 ? now : last);
        } else {
            lastAcknowledged.set(sentNanos);
            acknowledged = true;
        }
    }

    public CompletableFuture<Created> create(String path, byte[] data, List<ACL> acl, CreateMode mode) {
        CompletableFuture<Created> reply = reply();
        long sentNanos = System.nanoTime();
        zk.create(
                path,
                data,
                acl,
                mode,
                (int rc, String asked, Object context, @Nullable String name, @Nullable Stat stat) -> {
                    if (rc == 0 && name != null && stat != null) {
                        acknowledged(sentNanos);
                        reply.complete(new Created(name, stat.getCzxid()));
                    } else {
                        fail(reply, rc, asked);
                    }
                },
                null);
        return reply;
    }

    /** Lists the nodes of a lock; fails if the listing itself breaks the connection, see {@link Listings}. */
    public CompletableFuture<List<String>> children(String path) {
        return listings.children(path);
    }

    private CompletableFuture<List<String>> list(String path) {
        CompletableFuture<List<String>> reply = reply();
        zk.getChildren(
                path,
                false,
                (int rc, String asked, Object context, @Nullable List<String> children) ->
                        complete(reply, rc, asked, children),
                null);
        return reply;
    }

    /** Whether ZooKeeper's client sets its watches again after a reconnection, as it does by default. */
    boolean restoresWatches() {
        return !zk.getClientConfig().getBoolean(ZKClientConfig.DISABLE_AUTO_WATCH_RESET);
    }

    /** Watches for the deletion of a node; see {@link DeletionWatches}. */
    CompletableFuture<List<String>> watch(String path, org.apache.zookeeper.Watcher watcher) {
        CompletableFuture<List<String>> reply = reply();
        zk.getChildren(
                path,
                watcher,
                (int rc, String asked, Object context, @Nullable List<String> children) ->
                        complete(reply, rc, asked, children),
                null);
        return reply;
    }

    public CompletableFuture<Stat> exists(String path) {
        CompletableFuture<Stat> reply = reply();
        zk.exists(
                path,
                false,
                (int rc, String asked, Object context, @Nullable Stat stat) -> complete(reply, rc, asked, stat),
                null);
        return reply;
    }

    public CompletableFuture<Data> data(String path) {
        CompletableFuture<Data> reply = reply();
        zk.getData(
                path,
                false,
                (int rc, String asked, Object context, byte @Nullable [] bytes, @Nullable Stat stat) -> complete(
                        reply, rc, asked, stat == null ? null : new Data(bytes == null ? new byte[0] : bytes, stat)),
                null);
        return reply;
    }

    /** Watches a node and all its children until {@link #unwatchAll}; see {@link LineRegistry}. */
    CompletableFuture<Void> watchAll(String path, org.apache.zookeeper.Watcher watcher) {
        CompletableFuture<Void> reply = reply();
        zk.addWatch(
                path,
                watcher,
                AddWatchMode.PERSISTENT_RECURSIVE,
                (int rc, String asked, Object context) -> {
                    if (rc == 0) {
                        reply.complete(null);
                    } else {
                        fail(reply, rc, asked);
                    }
                },
                null);
        return reply;
    }

    /**
     * Ends a watch of {@link #watchAll}. The servers have one watch for all programs that share the session, and
     * ZooKeeper's client can only remove it for all of them. So in a session that is shared with the application, only
     * the watcher is removed: the servers go on sending the events of that path until the session ends.
     */
    void unwatchAll(String path, org.apache.zookeeper.Watcher watcher) {
        org.apache.zookeeper.Watcher.WatcherType any = org.apache.zookeeper.Watcher.WatcherType.Any;
        if (shared) {
            zk.removeWatches(path, watcher, any, true, (int rc, String asked, Object context) -> {}, null);
        } else {
            zk.removeAllWatches(path, any, true, (int rc, String asked, Object context) -> {}, null);
        }
    }

    public CompletableFuture<Void> delete(String path) {
        CompletableFuture<Void> reply = reply();
        long sentNanos = System.nanoTime();
        zk.delete(
                path,
                -1,
                (int rc, String asked, Object context) -> {
                    if (rc == 0) {
                        acknowledged(sentNanos);
                        reply.complete(null);
                    } else {
                        fail(reply, rc, asked);
                    }
                },
                null);
        return reply;
    }

    /** Brings the server that the client is connected to up to date with the leader, for the reads that follow. */
    CompletableFuture<Void> sync(String path) {
        CompletableFuture<Void> reply = reply();
        zk.sync(
                path,
                (int rc, String asked, Object context) -> {
                    if (rc == 0) {
                        reply.complete(null);
                    } else {
                        fail(reply, rc, asked);
                    }
                },
                null);
        return reply;
    }

    /**
     * Sends reads behind a {@link #sync}, in the same trip. They fail if it fails: a connection that breaks between the
     * two would answer them from a server that may lag behind.
     */
    public <T> CompletableFuture<T> synced(String path, Supplier<CompletableFuture<T>> reads) {
        CompletableFuture<Void> sync = sync(path);
        return sync.thenCombine(reads.get(), (synced, read) -> read);
    }

    /**
     * Asks a quorum whether nodes exist, in one write that changes nothing.
     *
     * @return the index of the first node that does not exist, or the number of nodes if all exist
     */
    public CompletableFuture<Integer> confirm(List<String> paths) {
        return transact(paths.stream().map(path -> Op.check(path, -1)).toList());
    }

    /**
     * Executes all operations in one write, or none if a node does not exist or has an unexpected version.
     *
     * @return the index of the first operation that was refused for such a reason, or the number of operations if all
     *     were executed
     */
    public CompletableFuture<Integer> transact(List<Op> operations) {
        CompletableFuture<Integer> reply = reply();
        long sentNanos = System.nanoTime();
        zk.multi(
                operations,
                (int rc, String asked, Object context, @Nullable List<OpResult> results) -> {
                    if (rc == 0) {
                        acknowledged(sentNanos);
                        reply.complete(operations.size());
                    } else if (isUnmet(rc) && results != null) {
                        acknowledged(sentNanos);
                        reply.complete(firstUnmet(results));
                    } else {
                        fail(reply, rc, operations.get(0).getPath());
                    }
                },
                null);
        return reply;
    }

    private static boolean isUnmet(int code) {
        return code == Code.NONODE.intValue() || code == Code.BADVERSION.intValue();
    }

    private static int firstUnmet(List<OpResult> results) {
        for (int i = 0; i < results.size(); i++) {
            if (results.get(i) instanceof OpResult.ErrorResult error && isUnmet(error.getErr())) {
                return i;
            }
        }
        return 0;
    }

    private static <T> void complete(CompletableFuture<T> reply, int rc, String path, @Nullable T value) {
        if (rc == 0 && value != null) {
            reply.complete(value);
        } else {
            fail(reply, rc, path);
        }
    }

    private static void fail(CompletableFuture<?> reply, int rc, String path) {
        Code code = rc == 0 ? Code.SYSTEMERROR : Code.get(rc);
        reply.completeExceptionally(KeeperException.create(code == null ? Code.SYSTEMERROR : code, path));
    }
}
