package dev.holdfast.lock.etcd;

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
 * The place of a waiter for a lock that knows all who are ahead of it, because they are few. It hears of all deletions in the line, by
 * its client's {@link NameWatch}, and so knows by itself when it is first: those ahead only leave, and whoever comes later
 * is behind. That is as certain as an attempt's answer. A deletion is heard in its order, so as long as that of its own
 * key was not heard, its key was there in the moment in which the last one ahead left. Where something may not have been
 * heard, because the watch has begun later than the last read, it is not first before the next read.
 *
 * <p>Equal if it is the same acquisition's. Thread-safe.
 */
final class ShortLine implements EtcdTicket {
    /** With more ahead, a waiter hears only of the one before it, and asks when that one has left. */
    static final int MAX_AHEAD = 8;

    /** That a key was deleted: its {@linkplain EtcdKeys#ending ending}, and the store's revision. */
    record Deletion(ByteSequence ending, long at) {
        static List<Deletion> of(WatchResponse heard) {
            List<Deletion> all = new ArrayList<>(1);
            for (WatchEvent event : heard.getEvents()) {
                if (event.getEventType() == WatchEvent.EventType.DELETE) {
                    KeyValue key = event.getKeyValue();
                    all.add(new Deletion(EtcdKeys.ending(key.getKey()), key.getModRevision()));
                }
            }
            return all;
        }
    }

    private final EtcdAcquisition acquisition;
    private final ByteSequence start;
    private final ByteSequence end;
    private final ReentrantLock mutex = new ReentrantLock();
    /** Deletions that a read which is on its way may not know of yet. */
    private final Map<ByteSequence, Long> deletedAt = new HashMap<>();

    private Set<ByteSequence> ahead = Set.of();
    private ByteSequence own = ByteSequence.EMPTY;
    private long created;
    private long revision;
    private boolean gone;
    private boolean newsTaken;
    /** Deletions up to that revision may not have been heard: only a read at it or after it tells. */
    private long unwatchedUpTo;

    /** That place's, which is one and the same for as long as it waits. */
    static ShortLine of(EtcdAcquisition acquisition, EtcdKeys keys) {
        return (ShortLine) acquisition.lastingTicket(() -> new ShortLine(acquisition, keys));
    }

    private ShortLine(EtcdAcquisition acquisition, EtcdKeys keys) {
        String name = acquisition.id().name();
        this.acquisition = acquisition;
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

    /** Its own key and those ahead. */
    @Override
    public GetOption readOption() {
        return upTo(created());
    }

    /** The keys of the line up to that create revision. */
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

    /** Whether it was heard that it is first, with a key that was created then. */
    boolean isFirst(long createRevision) {
        mutex.lock();
        try {
            return !gone && ahead.isEmpty() && created == createRevision && revision >= unwatchedUpTo;
        } finally {
            mutex.unlock();
        }
    }

    /** What is heard from now on begins after that revision. */
    void watchFrom(long watchedFrom) {
        mutex.lock();
        try {
            unwatchedUpTo = Math.max(unwatchedUpTo, watchedFrom);
        } finally {
            mutex.unlock();
        }
    }

    /**
     * Takes what an attempt has read: its own key and all ahead of it. Returns whether what was heard since says that they have left,
     * or that its key has.
     */
    boolean update(ByteSequence ownKey, long createRevision, List<KeyValue> read, long at) {
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
    public boolean onEvents(WatchResponse heard) {
        return onDeletions(Deletion.of(heard));
    }

    /** Takes deletions in their order; returns whether it is to do something about them. */
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
        return other instanceof ShortLine that && acquisition == that.acquisition;
    }

    @Override
    public int hashCode() {
        return System.identityHashCode(acquisition);
    }
}
