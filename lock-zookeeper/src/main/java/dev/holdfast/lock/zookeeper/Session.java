package dev.holdfast.lock.zookeeper;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.zookeeper.AddWatchMode;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Stat;
import org.jspecify.annotations.Nullable;

/**
 * One session with ZooKeeper: requests, and how long the session is known to live.
 *
 * <p><b>Order.</b> Requests go through the raw handle, not through Curator's background operations, which may be retried
 * out of order: the servers answer one session's requests in the order in which they were sent, so requests that do not
 * depend on each other's replies are sent back to back.
 *
 * <p><b>What is certain.</b> A session time-out of T means that the leader closes the session T after it last heard of
 * it, and not before. It hears of it through the server that the client is connected to, which answers reads and pings by
 * itself, even for a while after it was cut off from the leader. So a read proves nothing. A write is acknowledged by a
 * quorum: whoever leads then or later has heard of the session since the last time that this client sent anything, half a
 * tick before the write at the latest. The client sends something (a ping) after T/3 of silence, less a second. Therefore
 * two thirds of T, from when the latest acknowledged write was sent, are certain, even if this client and its server are
 * cut off together a moment later; it is also when ZooKeeper's own client gives the connection up.
 *
 * <p>Thread-safe. Stages complete on the handle's event thread.
 */
final class Session {

    /** A created node. */
    record Created(String path, long czxid) {}

    /** A node's data. */
    record Data(byte[] bytes, Stat stat) {}

    private final ZooKeeper zk;
    private final DeletionWatches watches;
    private final LineWatches lines = new LineWatches(this);
    private final LowestNodeProof successions = new LowestNodeProof();
    private final Listings listings = new Listings(this::list, this::exists, System::nanoTime);
    private final AtomicLong lastAcknowledged = new AtomicLong();
    private volatile boolean acknowledged;
    private volatile boolean connected;
    private final AtomicBoolean ended = new AtomicBoolean();

    Session(ZooKeeper zk) {
        this.zk = zk;
        this.connected = zk.getState() == ZooKeeper.States.CONNECTED;
        this.watches = new DeletionWatches(this);
    }

    ZooKeeper handle() {
        return zk;
    }

    DeletionWatches watches() {
        return watches;
    }

    LineWatches lines() {
        return lines;
    }

    LowestNodeProof successions() {
        return successions;
    }

    long id() {
        return zk.getSessionId();
    }

    /** Whether the last event said connected. A server without a quorum (read-only mode) does not count. */
    boolean isConnected() {
        return connected && zk.getState() == ZooKeeper.States.CONNECTED;
    }

    void connected(boolean now) {
        connected = now;
    }

    /** Whether it may still be alive on the servers as far as this client knows. */
    boolean isAlive() {
        return !ended.get() && zk.getState().isAlive();
    }

    /** Returns true to its first caller. */
    boolean end() {
        connected = false;
        return ended.compareAndSet(false, true);
    }

    /** For how long the session surely lives on, from an acknowledged write's sending; see the class. Zero if unknown. */
    long certainMillis() {
        return zk.getSessionTimeout() * 2L / 3;
    }

    /** The session's time-out in milliseconds, as the servers granted it. */
    int timeoutMillis() {
        return zk.getSessionTimeout();
    }

    /** How long ago the latest acknowledged write was sent, rounded up; {@link Long#MAX_VALUE} if there was none. */
    long acknowledgedAgeMillis() {
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

    CompletableFuture<Created> create(String path, byte[] data, List<ACL> acl, CreateMode mode) {
        CompletableFuture<Created> reply = new CompletableFuture<>();
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

    /** Lists a lock's acquisitions; fails if the listing itself breaks the connection, see {@link Listings}. */
    CompletableFuture<List<String>> children(String path) {
        return listings.children(path);
    }

    private CompletableFuture<List<String>> list(String path) {
        CompletableFuture<List<String>> reply = new CompletableFuture<>();
        zk.getChildren(
                path,
                false,
                (int rc, String asked, Object context, @Nullable List<String> children) ->
                        complete(reply, rc, asked, children),
                null);
        return reply;
    }

    /** Watches for the deletion of a node; see {@link DeletionWatches}. */
    CompletableFuture<List<String>> watch(String path, org.apache.zookeeper.Watcher watcher) {
        CompletableFuture<List<String>> reply = new CompletableFuture<>();
        zk.getChildren(
                path,
                watcher,
                (int rc, String asked, Object context, @Nullable List<String> children) ->
                        complete(reply, rc, asked, children),
                null);
        return reply;
    }

    CompletableFuture<Stat> exists(String path) {
        CompletableFuture<Stat> reply = new CompletableFuture<>();
        zk.exists(
                path,
                false,
                (int rc, String asked, Object context, @Nullable Stat stat) -> complete(reply, rc, asked, stat),
                null);
        return reply;
    }

    CompletableFuture<Data> data(String path) {
        CompletableFuture<Data> reply = new CompletableFuture<>();
        zk.getData(
                path,
                false,
                (int rc, String asked, Object context, byte @Nullable [] bytes, @Nullable Stat stat) -> complete(
                        reply, rc, asked, stat == null ? null : new Data(bytes == null ? new byte[0] : bytes, stat)),
                null);
        return reply;
    }

    /** Watches a node and all its children, until it is told otherwise; see {@link LineWatches}. */
    CompletableFuture<Void> watchAll(String path, org.apache.zookeeper.Watcher watcher) {
        CompletableFuture<Void> reply = new CompletableFuture<>();
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
     * Takes all watches of that path from the server. The removal of a single watcher would not: the client tells the
     * server only that it has looked for it.
     */
    void unwatchAll(String path) {
        zk.removeAllWatches(
                path,
                org.apache.zookeeper.Watcher.WatcherType.Any,
                true,
                (int rc, String asked, Object context) -> {},
                null);
    }

    CompletableFuture<Void> delete(String path) {
        CompletableFuture<Void> reply = new CompletableFuture<>();
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
        CompletableFuture<Void> reply = new CompletableFuture<>();
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
     * Has a quorum confirm that nodes exist, all in one write that changes nothing.
     *
     * @return the index of the first node that does not exist, or the number of nodes if all do
     */
    CompletableFuture<Integer> confirm(List<String> paths) {
        return transact(paths.stream().map(path -> Op.check(path, -1)).toList());
    }

    /**
     * Carries out all operations in one write, or none if a node does not exist or has another version than expected.
     *
     * @return the index of the first operation that was refused for such a reason, or the number of operations if all were
     *     carried out
     */
    CompletableFuture<Integer> transact(List<Op> operations) {
        CompletableFuture<Integer> reply = new CompletableFuture<>();
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
