package dev.holdfast.lock.etcd.internal.acquisition;

import dev.holdfast.lock.etcd.internal.client.DeletionWatch;
import dev.holdfast.lock.etcd.internal.client.EtcdKeys;
import dev.holdfast.lock.etcd.internal.permit.PermitLine;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.options.GetOption;
import io.etcd.jetcd.options.WatchOption;
import io.etcd.jetcd.watch.WatchEvent;
import io.etcd.jetcd.watch.WatchResponse;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The ticket of a waiter for permits, which depends on all keys ahead. It watches all keys of the name for deletions by
 * one watch, and computes for itself when it has room. So a release notifies only waiters that have room then. A
 * changed limit notifies all waiters: its key is deleted and written under its other name. Equal if it belongs to the
 * same acquisition. Thread-safe.
 */
public final class PermitTicket implements EtcdTicket {
    private final EtcdAcquisition acquisition;
    private final ByteSequence start;
    private final GetOption readOption;
    private final WatchOption watchOption;
    private final ReentrantLock mutex = new ReentrantLock();
    /** Deletions that may be missing in a pending read. */
    private final Map<ByteSequence, Long> deletedAt = new HashMap<>();

    private PermitLine line;

    /** The ticket of the acquisition, which stays the same while it waits, updated by this line. */
    public static PermitTicket of(EtcdAcquisition acquisition, EtcdKeys keys, PermitLine line) {
        PermitTicket ticket = (PermitTicket) acquisition.lastingTicket(() -> new PermitTicket(acquisition, keys, line));
        ticket.update(line);
        return ticket;
    }

    private PermitTicket(EtcdAcquisition acquisition, EtcdKeys keys, PermitLine line) {
        String name = acquisition.id().name();
        this.acquisition = acquisition;
        this.start = keys.queue(name);
        this.readOption = PermitLine.wholeQueue();
        this.watchOption = DeletionWatch.deletions().isPrefix(true).build();
        this.line = line;
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
        return watchOption;
    }

    @Override
    public GetOption readOption() {
        return readOption;
    }

    @Override
    public long revision() {
        mutex.lock();
        try {
            return line.revision();
        } finally {
            mutex.unlock();
        }
    }

    @Override
    public boolean onEvents(WatchResponse response) {
        boolean limitChanged = false;
        mutex.lock();
        try {
            for (WatchEvent event : response.getEvents()) {
                KeyValue key = event.getKeyValue();
                if (event.getEventType() == WatchEvent.EventType.DELETE && key.getModRevision() > line.revision()) {
                    limitChanged |= PermitLine.isLimit(key);
                    deletedAt.put(key.getKey(), key.getModRevision());
                    line = line.without(key.getKey());
                }
            }
            return limitChanged || !response.getEvents().isEmpty() && planTurn();
        } finally {
            mutex.unlock();
        }
    }

    @Override
    public boolean onRead(List<KeyValue> read, long at) {
        return update(new PermitLine(read, at));
    }

    /** Takes a newer state of the queue; returns whether the waiter must be notified. */
    boolean update(PermitLine newer) {
        mutex.lock();
        try {
            if (newer.revision() >= line.revision()) {
                deletedAt.values().removeIf(at -> at <= newer.revision());
                line = newer;
                for (ByteSequence key : List.copyOf(deletedAt.keySet())) {
                    line = line.without(key);
                }
            }
            return planTurn();
        } finally {
            mutex.unlock();
        }
    }

    /** Plans the next attempt if there is room; returns whether the waiter must be notified. */
    private boolean planTurn() {
        PermitLine.Turn turn = line.turnOf(acquisition);
        if (turn instanceof PermitLine.Turn.Room room) {
            acquisition.plan(room.plan());
        }
        return !(turn instanceof PermitLine.Turn.None);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof PermitTicket that && acquisition == that.acquisition;
    }

    @Override
    public int hashCode() {
        return System.identityHashCode(acquisition);
    }
}
