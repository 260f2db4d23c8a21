package dev.holdfast.lock.memcached;

/**
 * The handle of a grant: its item, and the last known cas id of it, which each renewal changes. An id is valid only on
 * the connection on which it was read. A restarted server counts its ids from 1 again, so an older id may be that of
 * another holder's item. Thread-safe.
 */
final class CasId {

    /**
     * An id.
     *
     * @param value the value that {@code gets} returned
     * @param connection the number of the connection before that request, see {@link Connections}
     */
    record Seen(long value, long connection) {}

    private final LockItem item;
    private volatile Seen last;

    CasId(LockItem item, Seen first) {
        this.item = item;
        last = first;
    }

    LockItem item() {
        return item;
    }

    Seen last() {
        return last;
    }

    void set(Seen seen) {
        last = seen;
    }
}
