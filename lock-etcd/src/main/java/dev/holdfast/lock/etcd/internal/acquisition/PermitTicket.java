package dev.holdfast.lock.etcd.internal.acquisition;

import dev.holdfast.lock.etcd.internal.client.DeletionWatch;
import dev.holdfast.lock.etcd.internal.client.EtcdKeys;
import dev.holdfast.lock.etcd.internal.permit.PermitLine;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.options.GetOption;
import io.etcd.jetcd.options.WatchOption;
import io.etcd.jetcd.watch.WatchResponse;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The ticket of a waiter for permits, which depends on all keys ahead. While it is subscribed, its client's
 * {@code PermitWatch} keeps the line for all waiters of the name, and notifies those that have room. Equal if it belongs to the
 * same acquisition. Thread-safe.
 */
public final class PermitTicket implements EtcdTicket {
    /** The line that a watch keeps for several tickets. Thread-safe. */
    interface SharedLine {
        PermitLine line();

        /** Takes the answer of a ticket's attempt; returns whether that waiter may proceed. */
        boolean update(PermitTicket from, PermitLine newer);

        /** Takes the whole queue as read by a ticket's poll; returns whether that waiter may proceed. */
        boolean onPoll(PermitTicket from, List<KeyValue> read, long at);

        /** Whether this poll must read the queue; otherwise one of another waiter did. */
        boolean mustRead();

        boolean onEvents(WatchResponse response);
    }

    private final EtcdAcquisition acquisition;
    /** Tickets of different histories of the store are different. */
    private final int history;

    private final ByteSequence start;
    /** Guards the next two; taken within the mutex of the watch, never around it. */
    private final ReentrantLock mutex = new ReentrantLock();

    private @Nullable SharedLine watch;
    /** The line while there is no watch; otherwise an older one. */
    private PermitLine line;

    /** The ticket of the acquisition, which stays the same while it waits. */
    public static PermitTicket of(EtcdAcquisition acquisition, EtcdKeys keys, PermitLine line) {
        return (PermitTicket) acquisition.lastingTicket(() -> new PermitTicket(acquisition, keys, line));
    }

    private PermitTicket(EtcdAcquisition acquisition, EtcdKeys keys, PermitLine line) {
        this.acquisition = acquisition;
        this.history = acquisition.history();
        this.start = keys.queue(acquisition.id().name());
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

    /** The newest line. */
    PermitLine line() {
        mutex.lock();
        SharedLine shared;
        try {
            shared = watch;
            if (shared == null) {
                return line;
            }
        } finally {
            mutex.unlock();
        }
        return shared.line();
    }

    private @Nullable SharedLine watch() {
        mutex.lock();
        try {
            return watch;
        } finally {
            mutex.unlock();
        }
    }

    /** From now on, the watch has the line. */
    void share(SharedLine by, PermitLine newest) {
        mutex.lock();
        try {
            watch = by;
            line = newest;
        } finally {
            mutex.unlock();
        }
    }

    /** The watch no longer has this waiter. */
    void unshare(SharedLine by, PermitLine last) {
        mutex.lock();
        try {
            if (watch == by) {
                watch = null;
                line = last;
            }
        } finally {
            mutex.unlock();
        }
    }

    @Override
    public boolean onEvents(WatchResponse response) {
        SharedLine shared = watch();
        return shared != null && shared.onEvents(response);
    }

    @Override
    public boolean onRead(List<KeyValue> read, long at) {
        SharedLine shared = watch();
        return shared != null ? shared.onPoll(this, read, at) : update(new PermitLine(read, at));
    }

    /** Whether a poll need not read the queue, because the watch has it. */
    @Override
    public boolean isRead() {
        SharedLine shared = watch();
        return shared != null && !shared.mustRead();
    }

    @Override
    public boolean mayProceed() {
        return mayProceed(line());
    }

    /** Takes a newer state of the queue; returns whether the waiter may proceed. */
    public boolean update(PermitLine newer) {
        SharedLine shared = watch();
        if (shared != null) {
            return shared.update(this, newer);
        }
        mutex.lock();
        try {
            if (newer.revision() >= line.revision()) {
                line = newer;
            }
            return mayProceed(line);
        } finally {
            mutex.unlock();
        }
    }

    /** Plans the next attempt if there is room; returns whether the waiter may proceed. */
    boolean mayProceed(PermitLine present) {
        return mayProceed(present.turnOf(acquisition));
    }

    /** The same for the entry with that index; false if the entry is not of this acquisition. */
    boolean mayProceed(PermitLine present, int index) {
        return acquisition.owns(present.entries().get(index)) && mayProceed(present.turnOf(acquisition, index));
    }

    private boolean mayProceed(PermitLine.Turn turn) {
        if (turn instanceof PermitLine.Turn.Room room) {
            acquisition.plan(room.plan());
        }
        return !(turn instanceof PermitLine.Turn.None);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof PermitTicket that && acquisition == that.acquisition && history == that.history;
    }

    @Override
    public int hashCode() {
        return System.identityHashCode(acquisition);
    }
}
