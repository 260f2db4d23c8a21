package dev.holdfast.lock.memcached;

import com.spotify.folsom.MemcacheStatus;
import dev.holdfast.lock.LockUnavailableException;

/** What memcached says to a write. */
final class Statuses {
    private Statuses() {}

    /**
     * Whether a write was done.
     *
     * @param no the one other answer that the request has
     * @throws LockUnavailableException for any further answer
     */
    static boolean isDone(MemcacheStatus status, MemcacheStatus no) {
        if (status != MemcacheStatus.OK && status != no) {
            throw new LockUnavailableException("memcached answers " + status + "; the outcome is unknown, try again");
        }
        return status == MemcacheStatus.OK;
    }
}
