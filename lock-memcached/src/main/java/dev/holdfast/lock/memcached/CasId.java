package dev.holdfast.lock.memcached;

/**
 * A grant's handle: its item, and the last known cas id of it, which each renewal changes. The id means something on the
 * connection on which it was read: a server that was restarted counts its ids from 1 again, so that an older one may be that
 * of another holder's item. Thread-safe.
 */
final class CasId {

    /**
     * An id.
     *
     * @param value what {@code gets} returned
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
