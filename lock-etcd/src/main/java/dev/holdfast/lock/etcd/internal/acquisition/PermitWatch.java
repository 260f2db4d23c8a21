package dev.holdfast.lock.etcd.internal.acquisition;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.etcd.internal.client.DeletionWatch;
import dev.holdfast.lock.etcd.internal.client.EtcdCalls;
import dev.holdfast.lock.etcd.internal.client.EtcdKeys;
import dev.holdfast.lock.etcd.internal.permit.PermitLine;
import dev.holdfast.lock.spi.Subscription;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.options.GetOption;
import io.etcd.jetcd.options.WatchOption;
import io.etcd.jetcd.watch.WatchEvent;
import io.etcd.jetcd.watch.WatchResponse;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/**
 * One watch of a client on the permits of a name, and one {@link PermitLine}, for all its waiters there. A deletion is
 * taken from the line once, and only waiters at the head of the queue are considered. So its cost does not depend on
 * how many wait. A changed limit notifies all waiters: its key is deleted and written under its other name.
 *
 * <p>The line is that of the newest attempt or read, without the keys that were deleted since. New keys may be missing:
 * they come behind all others. A waiter is notified once until its next attempt. Thread-safe.
 */
final class PermitWatch extends SharedWatch implements PermitTicket.SharedLine {
    /** One poll in that time reads the queue, for all waiters. */
    private static final long READ_NANOS = TimeUnit.MILLISECONDS.toNanos(2_500);

    /** A registered waiter, compared by identity. */
    private static final class Waiter {
        final PermitTicket ticket;
        final Runnable onNews;
        ByteSequence ending;
        boolean isNotified;

        Waiter(PermitTicket ticket, Runnable onNews) {
            this.ticket = ticket;
            this.onNews = onNews;
            this.ending = EtcdKeys.ending(ticket.acquisition().key());
        }

        void notifyOnce(List<Runnable> notified) {
            if (!isNotified) {
                isNotified = true;
                notified.add(onNews);
            }
        }
    }

    private final ByteSequence start;
    private final int limit;
    private final DeletionWatch watch;
    private final ReentrantLock mutex = new ReentrantLock();
    private final Map<PermitTicket, Waiter> waiters = new HashMap<>();
    private final Map<ByteSequence, Waiter> byEnding = new HashMap<>();
    /** Deletions that may be missing in a pending read. */
    private final Map<ByteSequence, Long> deletedAt = new HashMap<>();

    private PermitLine line;
    private long readNanos = System.nanoTime();
    private boolean isReading;

    PermitWatch(EtcdCalls calls, PermitTicket first) {
        super(calls.history().number());
        this.start = first.watched();
        this.limit = ((Demand.Permits) first.acquisition().id().demand()).limit();
        this.line = first.line();
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
        PermitTicket permits = (PermitTicket) ticket;
        Waiter waiter = new Waiter(permits, onNews);
        PermitLine newest = permits.line();
        changed(notified -> {
            Waiter before = waiters.put(permits, waiter);
            if (before != null) {
                byEnding.remove(before.ending, before);
            }
            byEnding.put(waiter.ending, waiter);
            replace(newest);
            permits.share(this, line);
        });
        return () -> remove(waiter);
    }

    private void remove(Waiter waiter) {
        mutex.lock();
        try {
            if (waiters.remove(waiter.ticket, waiter)) {
                waiter.ticket.unshare(this, line);
            }
            byEnding.remove(waiter.ending, waiter);
        } finally {
            mutex.unlock();
        }
    }

    @Override
    public boolean update(PermitTicket from, PermitLine newer) {
        boolean[] news = new boolean[1];
        changed(notified -> {
            Waiter waiter = waiters.get(from);
            replace(newer);
            if (waiter != null) {
                byEnding.remove(waiter.ending, waiter);
                waiter.ending = EtcdKeys.ending(from.acquisition().key()); // it may have another key
                byEnding.put(waiter.ending, waiter);
                waiter.isNotified = true; // by the result
            }
            news[0] = from.mayProceed(line);
            if (waiter != null && !news[0]) {
                waiter.isNotified = false;
            }
        });
        return news[0];
    }

    @Override
    public boolean mustRead() {
        mutex.lock();
        try {
            boolean late = System.nanoTime() - readNanos >= READ_NANOS;
            if (late) {
                readNanos = System.nanoTime();
            }
            return late;
        } finally {
            mutex.unlock();
        }
    }

    @Override
    public PermitLine line() {
        mutex.lock();
        try {
            return line;
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
        return DeletionWatch.deletions().isPrefix(true).build();
    }

    @Override
    public GetOption readOption() {
        return PermitLine.wholeQueue();
    }

    @Override
    public long revision() {
        return line().revision();
    }

    @Override
    public boolean onEvents(WatchResponse response) {
        if (!response.getEvents().isEmpty()) {
            changed(notified -> {
                Map<ByteSequence, Long> deleted = new HashMap<>();
                for (WatchEvent event : response.getEvents()) {
                    KeyValue key = event.getKeyValue();
                    boolean isNews = event.getEventType() == WatchEvent.EventType.DELETE
                            && key.getModRevision() > line.revision();
                    if (isNews && PermitLine.isLimit(key)) {
                        waiters.values().forEach(waiter -> waiter.notifyOnce(notified));
                    }
                    if (isNews) {
                        deleted.put(EtcdKeys.ending(key.getKey()), key.getModRevision());
                    }
                }
                deletedAt.putAll(deleted);
                line = line.without(deleted.keySet());
                deleted.keySet().forEach(ending -> {
                    Waiter gone = byEnding.get(ending);
                    if (gone != null) {
                        gone.notifyOnce(notified);
                    }
                });
            });
        }
        return false;
    }

    @Override
    public boolean onEarlierBeginning() {
        changed(notified -> waiters.values().forEach(waiter -> waiter.notifyOnce(notified)));
        return false;
    }

    @Override
    public boolean onRead(List<KeyValue> read, long at) {
        changed(notified -> take(read, at, notified));
        return false;
    }

    @Override
    public boolean onPoll(PermitTicket from, List<KeyValue> read, long at) {
        boolean[] news = new boolean[1];
        changed(notified -> {
            take(read, at, notified);
            news[0] = from.mayProceed(line);
        });
        return news[0];
    }

    private void take(List<KeyValue> read, long at, List<Runnable> notified) {
        readNanos = System.nanoTime();
        if (replace(new PermitLine(read, at))) {
            Set<ByteSequence> there =
                    read.stream().map(key -> EtcdKeys.ending(key.getKey())).collect(Collectors.toSet());
            waiters.values().stream()
                    .filter(waiter -> !there.contains(waiter.ending))
                    .forEach(waiter -> waiter.notifyOnce(notified));
        }
    }

    private boolean replace(PermitLine newer) {
        boolean isNewer = newer.revision() >= line.revision();
        if (isNewer) {
            isReading = false;
            deletedAt.values().removeIf(at -> at <= newer.revision());
            line = newer.head(limit).without(deletedAt.keySet());
        }
        return isNewer;
    }

    /** Makes a change, and notifies the waiters that may proceed. */
    private void changed(Consumer<List<Runnable>> change) {
        List<Runnable> notified = new ArrayList<>(1);
        boolean read;
        mutex.lock();
        try {
            change.accept(notified);
            for (int i = 0; i < line.entries().size(); i++) {
                Waiter waiter =
                        byEnding.get(EtcdKeys.ending(line.entries().get(i).getKey()));
                if (waiter != null && waiter.ticket.mayProceed(line, i)) {
                    waiter.notifyOnce(notified);
                }
            }
            read = !isReading && line.isShort(limit) && !waiters.isEmpty();
            isReading |= read;
        } finally {
            mutex.unlock();
        }
        notified.forEach(Runnable::run);
        if (read) {
            watch.recheck();
        }
    }
}
