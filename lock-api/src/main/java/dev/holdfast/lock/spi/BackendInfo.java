package dev.holdfast.lock.spi;

/**
 * Constant facts about a backend. Immutable.
 *
 * @param name short name for messages, such as {@code redis}
 * @param blocking true if calls work on the calling thread; see {@link LockBackend}
 * @param fifo true if waiting processes are served strictly in the order of their requests when asked for {@code fair};
 *     if false, the engine refuses {@code fair}
 * @param minLeaseMillis the shortest lease that the backend keeps, in milliseconds
 * @param pollMinMillis how soon a busy lock is tried again for the first time, in milliseconds; the wait doubles, with
 *     jitter, up to {@code pollMaxMillis}, and is never longer than the holder's remaining time
 * @param pollMaxMillis the longest wait between two tries of a busy lock, in milliseconds; a backend whose
 *     {@link LockBackend#subscribe} is prompt sets both to the interval of its safety net
 * @param ordered true if the store handles the requests about a name in the order in which they were made, but for
 *     faults: then the next attempt is made right behind a release, in one trip with it, without waiting for its answer
 * @param expiring true if whatever an acquisition leaves on the server, a grant as well as a place in a queue, ends by
 *     itself a lease later at the latest: then nobody tries for longer than that to remove it. False if it may stay for as
 *     long as this client's session or connection; when in doubt, false
 */
public record BackendInfo(
        String name,
        boolean blocking,
        boolean fifo,
        long minLeaseMillis,
        long pollMinMillis,
        long pollMaxMillis,
        boolean ordered,
        boolean expiring) {

    /**
     * Validates.
     *
     * @param name not blank
     * @param blocking as above
     * @param fifo as above
     * @param minLeaseMillis at least 1
     * @param pollMinMillis at least 1
     * @param pollMaxMillis at least {@code pollMinMillis}
     * @param ordered as above
     * @param expiring as above
     * @throws IllegalArgumentException if a component is out of its range
     */
    public BackendInfo {
        if (name.isBlank() || minLeaseMillis < 1 || pollMinMillis < 1 || pollMaxMillis < pollMinMillis) {
            throw new IllegalArgumentException("invalid backend info of '" + name + "': shortest lease "
                    + minLeaseMillis + " ms, poll " + pollMinMillis + ".." + pollMaxMillis + " ms");
        }
    }

    /**
     * Of a backend that is neither ordered nor expiring.
     *
     * @param name as above
     * @param blocking as above
     * @param fifo as above
     * @param minLeaseMillis as above
     * @param pollMinMillis as above
     * @param pollMaxMillis as above
     * @throws IllegalArgumentException if a component is out of its range
     */
    public BackendInfo(
            String name, boolean blocking, boolean fifo, long minLeaseMillis, long pollMinMillis, long pollMaxMillis) {
        this(name, blocking, fifo, minLeaseMillis, pollMinMillis, pollMaxMillis, false, false);
    }
}
