package dev.holdfast.lock.etcd.internal.client;

import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.support.BackgroundLog;
import io.etcd.jetcd.Watch;
import io.etcd.jetcd.options.WatchOption;
import io.etcd.jetcd.watch.WatchResponse;
import java.util.concurrent.CancellationException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Watches for deletions that may free the lock for a waiter: of one key, or in a range of keys, that was read at a
 * known revision R.
 *
 * <p>The watch starts "now". etcd serves a watch that starts at a past revision from a loop that runs every 100 ms
 * (mvcc's unsynced watchers), and a watch that starts now at once. The server returns the revision W at which the watch
 * began, and reports all later events. If W ≤ R, no event can be missing. Otherwise the keys are read once, after the
 * watch has begun.
 *
 * <p>jetcd's watcher stops on some errors ("no leader", compaction) and resumes on others, possibly with lost events.
 * So its events are ignored after the first error of any kind. It is closed and replaced by a new watcher, which begins
 * with the same comparison.
 *
 * <p>Thread-safe. Errors are handled on another thread, because jetcd reports them while it holds a lock of its own.
 * Events come without that lock and are handled at once.
 */
public final class DeletionWatch implements Subscription {
    private static final BackgroundLog LOG = BackgroundLog.of(DeletionWatch.class);
    private static final long FIRST_PAUSE_MILLIS = 50;
    private static final long MAX_PAUSE_MILLIS = 2_000;
    private static final long READ_TIMEOUT_MILLIS = 3_000;

    private final EtcdCalls calls;
    /** A waiter's ticket, or the shared watch of several waiters. */
    private final WatchTarget ticket;

    private final Runnable onDeleted;
    private final AtomicInteger generation = new AtomicInteger();
    private final AtomicReference<Watch.@Nullable Watcher> watcher = new AtomicReference<>();
    private final AtomicBoolean begun = new AtomicBoolean();
    private volatile long pauseMillis = FIRST_PAUSE_MILLIS;
    private volatile boolean closed;

    public DeletionWatch(EtcdCalls calls, WatchTarget ticket, Runnable onDeleted) {
        this.calls = calls;
        this.ticket = ticket;
        this.onDeleted = onDeleted;
    }

    /** Options that report only deletions. */
    public static WatchOption.Builder deletions() {
        return WatchOption.builder().withNoPut(true).withCreateNotify(true).withRequireLeader(true);
    }

    /** Creates and opens a watch. */
    public static DeletionWatch open(EtcdCalls calls, WatchTarget ticket, Runnable onDeleted) {
        DeletionWatch watch = new DeletionWatch(calls, ticket, onDeleted);
        watch.open();
        return watch;
    }

    public void open() {
        open(generation.incrementAndGet());
    }

    private void open(int mine) {
        if (closed) {
            return;
        }
        try {
            Watch.Watcher opened = calls.watch(
                    ticket.watched(),
                    ticket.watchOption(),
                    Watch.listener(
                            response -> received(mine, response),
                            failure -> broken(mine, failure),
                            () -> broken(mine, new CancellationException("ended by the client library"))));
            replace(opened);
            if (closed) {
                replace(null);
            }
        } catch (Exception e) {
            broken(mine, e);
        }
    }

    private void received(int from, WatchResponse response) {
        if (closed || from != generation.get()) {
            return;
        }
        pauseMillis = FIRST_PAUSE_MILLIS;
        calls.noteTerm(response);
        boolean isEarlier = response.isCreatedNotify()
                && begun.getAndSet(true)
                && response.getHeader().getRevision() < ticket.revision();
        if (ticket.onEvents(response) || isEarlier && ticket.onEarlierBeginning()) {
            onDeleted.run();
        } else if (response.isCreatedNotify() && response.getHeader().getRevision() > ticket.revision()) {
            recheck(from);
        }
    }

    /** Reads the watched keys once. */
    public void recheck() {
        recheck(generation.get());
    }

    private void recheck(int from) {
        calls.bounded(calls.get(ticket.watched(), ticket.readOption()), READ_TIMEOUT_MILLIS)
                .whenComplete((reply, failure) -> {
                    if (failure == null) {
                        calls.noteTerm(reply);
                    }
                    if (closed || from != generation.get()) {
                        return;
                    }
                    if (failure != null) {
                        broken(from, failure);
                    } else if (ticket.onRead(reply.getKvs(), reply.getHeader().getRevision())) {
                        onDeleted.run();
                    }
                });
    }

    private void broken(int from, Throwable failure) {
        int next = from + 1;
        if (!closed && generation.compareAndSet(from, next)) {
            hopLater(() -> another(next, failure), 0);
        }
    }

    private void another(int next, Throwable failure) {
        if (next != generation.get()) {
            return;
        }
        LOG.debug("watch of {} failed; opening another one", ticket.watched(), failure);
        replace(null);
        long pause = pauseMillis;
        pauseMillis = Math.min(2 * pause, MAX_PAUSE_MILLIS);
        long jittered = pause / 2 + ThreadLocalRandom.current().nextLong(pause);
        hopLater(
                () -> {
                    if (generation.compareAndSet(next, next + 1)) {
                        open(next + 1);
                    }
                },
                jittered);
    }

    private void replace(Watch.@Nullable Watcher next) {
        Watch.Watcher before = watcher.getAndSet(next);
        if (before != null) {
            before.close();
        }
    }

    private void hopLater(Runnable task, long millis) {
        try {
            calls.executor().schedule(task, millis, TimeUnit.MILLISECONDS);
        } catch (RejectedExecutionException e) {
            closed = true;
        }
    }

    @Override
    public void close() {
        closed = true;
        replace(null);
    }
}
