package dev.holdfast.lock.etcd;

import dev.holdfast.lock.spi.Subscription;
import io.etcd.jetcd.Watch;
import io.etcd.jetcd.options.WatchOption;
import io.etcd.jetcd.watch.WatchResponse;
import java.util.concurrent.CancellationException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Hears of deletions that make room for a waiter: of one key, or in a range of keys, that was read at a known revision R.
 *
 * <p>The watch starts "now": etcd serves a watch that starts at a revision already passed from a loop that runs every
 * 100 ms (mvcc's unsynced watchers), one that starts now at once. The server says at which revision W of its own it
 * began: it reports everything after W. If W ≤ R nothing can have been missed; otherwise it is read once, after the
 * watch has begun.
 *
 * <p>jetcd's watcher gives up on some errors ("no leader", compaction), resumes by itself on others, and may lose events
 * then. So nothing counts that it says after the first error of any kind; it is closed and replaced by a new one, which
 * begins with the same comparison.
 *
 * <p>Thread-safe. Errors leave jetcd's threads at once, because it reports them under a lock of its own; an event, which
 * comes without that lock, does not.
 */
final class DeletionWatch implements Subscription {
    private static final Logger LOG = LoggerFactory.getLogger(DeletionWatch.class);
    private static final long FIRST_PAUSE_MILLIS = 50;
    private static final long MAX_PAUSE_MILLIS = 2_000;
    private static final long READ_TIMEOUT_MILLIS = 3_000;

    private final EtcdCalls calls;
    /** A waiter's ticket, or a {@link NameWatch} for several waiters. */
    private final Watched ticket;

    private final Runnable onDeleted;
    private final AtomicInteger generation = new AtomicInteger();
    private final AtomicReference<Watch.@Nullable Watcher> watcher = new AtomicReference<>();
    private volatile long pauseMillis = FIRST_PAUSE_MILLIS;
    private volatile boolean closed;

    DeletionWatch(EtcdCalls calls, Watched ticket, Runnable onDeleted) {
        this.calls = calls;
        this.ticket = ticket;
        this.onDeleted = onDeleted;
    }

    /** How to watch for deletions alone. */
    static WatchOption.Builder deletions() {
        return WatchOption.builder().withNoPut(true).withCreateNotify(true).withRequireLeader(true);
    }

    void open() {
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
                            response -> heard(mine, response),
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

    private void heard(int from, WatchResponse response) {
        if (closed || from != generation.get()) {
            return;
        }
        pauseMillis = FIRST_PAUSE_MILLIS;
        calls.noteTerm(response);
        if (ticket.onEvents(response)) {
            onDeleted.run();
        } else if (response.isCreatedNotify() && response.getHeader().getRevision() > ticket.revision()) {
            recheck(from);
        }
    }

    /** Reads once what is watched. */
    void recheck() {
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
        LOG.debug("watch of {} broke, opening another one", ticket.watched(), failure);
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
