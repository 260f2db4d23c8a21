package dev.holdfast.lock.spi;

/** A place in a store's queue. Made by a backend, opaque to the engine, which gives it back to the same backend. */
public interface Ticket {

    /**
     * After how long the lock is to be asked for again at the latest, from what the backend knows of this place: the first in a line
     * asks often, those behind it rarely. The holder's remaining lease may make it earlier.
     *
     * @return milliseconds, at least 1; negative if that is left to the engine, which asks ever more rarely within the bounds of
     *     {@link BackendInfo}
     */
    default long askAgainMillis() {
        return -1;
    }
}
