package dev.holdfast.lock.memcached;

import com.spotify.folsom.MemcacheStatus;
import dev.holdfast.lock.LockUnavailableException;

/** The status of a write. */
final class Statuses {
    private Statuses() {}

    /**
     * Whether a write was executed.
     *
     * @param no the only other expected answer
     * @throws LockUnavailableException for any other answer
     */
    static boolean isDone(MemcacheStatus status, MemcacheStatus no) {
        if (status != MemcacheStatus.OK && status != no) {
            throw new LockUnavailableException("memcached answers " + status + "; the outcome is unknown, try again");
        }
        return status == MemcacheStatus.OK;
    }
}
