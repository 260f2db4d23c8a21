package dev.holdfast.lock.etcd.internal.acquisition;

import dev.holdfast.lock.etcd.internal.client.DeletionWatch;
import dev.holdfast.lock.etcd.internal.client.EtcdKeys;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.options.GetOption;
import io.etcd.jetcd.options.WatchOption;
import io.etcd.jetcd.watch.WatchEvent;
import io.etcd.jetcd.watch.WatchResponse;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The ticket of a waiter for a lock with few keys ahead, which it tracks. Its client's {@link NameWatch} delivers all
 * deletions in the queue, so it detects by itself when it is first: the keys ahead only leave, and new keys come
 * behind. That is as certain as an attempt's answer. Deletions arrive in order; if that of its own key has not arrived,
 * its key existed when the last key ahead was deleted. If events may be missing, because the watch began later than the
 * last read, it is not first before the next read.
 *
 * <p>Equal if it belongs to the same acquisition. Thread-safe.
 */
public final class QueueHeadTicket implements EtcdTicket {
    /** With more keys ahead, a waiter watches only its predecessor, and makes an attempt when that one has left. */
    public static final int MAX_AHEAD = 8;

    /** The deletion of a key: its {@linkplain EtcdKeys#ending ending}, and the store's revision. */
    record Deletion(ByteSequence ending, long at) {
        public static List<Deletion> of(WatchResponse response) {
            List<Deletion> all = new ArrayList<>(1);
            for (WatchEvent event : response.getEvents()) {
                if (event.getEventType() == WatchEvent.EventType.DELETE) {
                    KeyValue key = event.getKeyValue();
                    all.add(new Deletion(EtcdKeys.ending(key.getKey()), key.getModRevision()));
                }
            }
            return all;
        }
    }

    private final EtcdAcquisition acquisition;
    /** Tickets of different histories of the store are different. */
    private final int history;

    private final ByteSequence start;
    private final ByteSequence end;
    private final ReentrantLock mutex = new ReentrantLock();
    /** Deletions that may be missing in a pending read. */
    private final Map<ByteSequence, Long> deletedAt = new HashMap<>();

    private Set<ByteSequence> ahead = Set.of();
    private ByteSequence own = ByteSequence.EMPTY;
    private long created;
    private long revision;
    private boolean gone;
    private boolean newsTaken;
    /** Deletions up to that revision may be missing: only a read at or after it is complete. */
    private long unwatchedUpTo;

    /** The acquisition's ticket, which stays the same while it waits. */
    public static QueueHeadTicket of(EtcdAcquisition acquisition, EtcdKeys keys) {
        return (QueueHeadTicket) acquisition.lastingTicket(() -> new QueueHeadTicket(acquisition, keys));
    }

    private QueueHeadTicket(EtcdAcquisition acquisition, EtcdKeys keys) {
        String name = acquisition.id().name();
        this.acquisition = acquisition;
        this.history = acquisition.history();
        this.start = keys.queue(name);
        this.end = keys.queueEnd(name);
    }

    @Override
    public EtcdAcquisition acquisition() {
        return acquisition;
    }

    @Override
    public ByteSequence watched() {
        return start;
    }

    @Override
    public WatchOption watchOption() {
        return DeletionWatch.deletions().withRange(end).build();
    }

    /** Reads its own key and those ahead. */
    @Override
    public GetOption readOption() {
        return upTo(created());
    }

    /** The keys of the queue up to that create revision. */
    GetOption upTo(long created) {
        GetOption.Builder keys = GetOption.builder().withRange(end).withKeysOnly(true);
        return created == 0 ? keys.build() : keys.withMaxCreateRevision(created).build();
    }

    long created() {
        mutex.lock();
        try {
            return created;
        } finally {
            mutex.unlock();
        }
    }

    @Override
    public long revision() {
        mutex.lock();
        try {
            return revision;
        } finally {
            mutex.unlock();
        }
    }

    /** Whether it is certainly first, with a key of that create revision. */
    boolean isFirst(long createRevision) {
        mutex.lock();
        try {
            return !gone && ahead.isEmpty() && created == createRevision && revision >= unwatchedUpTo;
        } finally {
            mutex.unlock();
        }
    }

    /** Events arrive only from after that revision. */
    void watchFrom(long watchedFrom) {
        mutex.lock();
        try {
            unwatchedUpTo = Math.max(unwatchedUpTo, watchedFrom);
        } finally {
            mutex.unlock();
        }
    }

    /**
     * Takes the answer of an attempt: its own key and all keys ahead. Returns whether later events show that they have
     * left, or that its own key has.
     */
    public boolean update(ByteSequence ownKey, long createRevision, List<KeyValue> read, long at) {
        mutex.lock();
        try {
            if (at >= revision) {
                own = EtcdKeys.ending(ownKey);
                created = createRevision;
                replace(read, at);
            }
            return takeNews();
        } finally {
            mutex.unlock();
        }
    }

    @Override
    public boolean onRead(List<KeyValue> read, long at) {
        mutex.lock();
        try {
            if (at >= revision) {
                replace(read, at);
            }
            return takeNews();
        } finally {
            mutex.unlock();
        }
    }

    private void replace(List<KeyValue> read, long at) {
        revision = at;
        deletedAt.values().removeIf(before -> before <= at);
        gone = true;
        newsTaken = false;
        ahead = new HashSet<>();
        for (KeyValue key : read) {
            if (key.getCreateRevision() < created) {
                ahead.add(EtcdKeys.ending(key.getKey()));
            }
            gone &= key.getCreateRevision() != created;
        }
        deletedAt.keySet().forEach(this::removeKey);
    }

    private void removeKey(ByteSequence ending) {
        ahead.remove(ending);
        gone |= ending.equals(own);
    }

    @Override
    public boolean onEvents(WatchResponse response) {
        return onDeletions(Deletion.of(response));
    }

    /** Takes deletions in order; returns whether the waiter must be notified. */
    boolean onDeletions(Iterable<Deletion> deletions) {
        mutex.lock();
        try {
            for (Deletion deletion : deletions) {
                if (deletion.at() > revision) {
                    deletedAt.put(deletion.ending(), deletion.at());
                    removeKey(deletion.ending());
                }
            }
            return takeNews();
        } finally {
            mutex.unlock();
        }
    }

    private boolean takeNews() {
        boolean news = !newsTaken && (gone || ahead.isEmpty());
        newsTaken |= news;
        return news;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof QueueHeadTicket that && acquisition == that.acquisition && history == that.history;
    }

    @Override
    public int hashCode() {
        return System.identityHashCode(acquisition);
    }
}
