package dev.holdfast.lock.etcd.internal.acquisition;

import dev.holdfast.lock.etcd.internal.client.DeletionWatch;
import dev.holdfast.lock.etcd.internal.client.EtcdCalls;
import dev.holdfast.lock.spi.Subscription;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.options.GetOption;
import io.etcd.jetcd.options.WatchOption;
import io.etcd.jetcd.watch.WatchResponse;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Predicate;

/**
 * One watch of a client on the queue of a name, for all its waiters there that have a {@link QueueHeadTicket}. It continues
 * for a while without waiters: a client that soon waits again needs no new watch and misses nothing, because the latest
 * deletions are kept. Thread-safe.
 */
final class NameWatch extends SharedWatch {
    private static final int MAX_RECENT = 64;
    private static final long NOT_BEGUN = Long.MAX_VALUE;

    /** A registered waiter, compared by identity. */
    private static final class Waiter {
        final QueueHeadTicket line;
        final Runnable onNews;

        Waiter(QueueHeadTicket line, Runnable onNews) {
            this.line = line;
            this.onNews = onNews;
        }
    }

    private final ByteSequence start;
    private final WatchOption watchOption;
    private final QueueHeadTicket first;
    private final DeletionWatch watch;
    private final ReentrantLock mutex = new ReentrantLock();
    private final List<Waiter> waiters = new ArrayList<>();
    private final Deque<QueueHeadTicket.Deletion> recent = new ArrayDeque<>();
    /** All deletions after that revision are in {@link #recent}. */
    private long since = NOT_BEGUN;

    /** Creates the watch for the queue of this ticket; {@link #open} begins it. */
    NameWatch(EtcdCalls calls, QueueHeadTicket first) {
        super(calls.history().number());
        this.start = first.watched();
        this.watchOption = first.watchOption();
        this.first = first;
        this.watch = new DeletionWatch(calls, this, () -> {});
    }

    @Override
    void open() {
        watch.open();
    }

    @Override
    void close() {
        watch.close();
    }

    @Override
    Subscription add(EtcdTicket ticket, Runnable onNews) {
        QueueHeadTicket line = (QueueHeadTicket) ticket;
        Waiter waiter = new Waiter(line, onNews);
        boolean news = false;
        boolean missed = false;
        mutex.lock();
        try {
            waiters.add(waiter);
            if (since != NOT_BEGUN) {
                line.watchFrom(since);
            }
            missed = since > line.revision() && since != NOT_BEGUN;
            news = line.onDeletions(recent);
        } finally {
            mutex.unlock();
        }
        if (missed) {
            watch.recheck();
        }
        if (news) {
            onNews.run();
        }
        return () -> remove(waiter);
    }

    private void remove(Waiter waiter) {
        mutex.lock();
        try {
            waiters.remove(waiter);
        } finally {
            mutex.unlock();
        }
    }

    @Override
    public ByteSequence watched() {
        return start;
    }

    @Override
    public WatchOption watchOption() {
        return watchOption;
    }

    /** Reads no keys behind the last waiter. */
    @Override
    public GetOption readOption() {
        mutex.lock();
        try {
            return first.upTo(waiters.stream()
                    .mapToLong(waiter -> waiter.line.created())
                    .max()
                    .orElse(0));
        } finally {
            mutex.unlock();
        }
    }

    /** The revision up to which all waiters are up to date: if the watch begins later, the keys must be read. */
    @Override
    public long revision() {
        mutex.lock();
        try {
            return waiters.stream()
                    .mapToLong(waiter -> waiter.line.revision())
                    .min()
                    .orElse(Long.MAX_VALUE);
        } finally {
            mutex.unlock();
        }
    }

    /** Notifies the waiters; the watch itself has no callback. */
    @Override
    public boolean onEvents(WatchResponse response) {
        List<QueueHeadTicket.Deletion> deletions = QueueHeadTicket.Deletion.of(response);
        notifyWaiters(
                () -> {
                    if (response.isCreatedNotify()) {
                        since = response.getHeader().getRevision();
                        recent.clear();
                        waiters.forEach(waiter -> waiter.line.watchFrom(since));
                    }
                    deletions.forEach(this::keepRecent);
                },
                line -> !deletions.isEmpty() && line.onDeletions(deletions));
        return false;
    }

    @Override
    public boolean onEarlierBeginning() {
        notifyWaiters(() -> {}, line -> true);
        return false;
    }

    private void keepRecent(QueueHeadTicket.Deletion deletion) {
        recent.addLast(deletion);
        if (recent.size() > MAX_RECENT) {
            since = Math.max(since, recent.removeFirst().at());
        }
    }

    @Override
    public boolean onRead(List<KeyValue> read, long at) {
        notifyWaiters(() -> {}, line -> line.onRead(read, at));
        return false;
    }

    private void notifyWaiters(Runnable before, Predicate<QueueHeadTicket> hasNews) {
        List<Runnable> notified = new ArrayList<>(1);
        mutex.lock();
        try {
            before.run();
            for (Waiter waiter : waiters) {
                if (hasNews.test(waiter.line)) {
                    notified.add(waiter.onNews);
                }
            }
        } finally {
            mutex.unlock();
        }
        notified.forEach(Runnable::run);
    }
}
