package dev.holdfast.lock;

/**
 * Permits of a {@link DistributedSemaphore}, held together: closing it gives all of them back. A {@link Lease} in everything:
 * bounded in time, renewed in the background, and {@linkplain #lost() lost} as one.
 *
 * <p>Thread-safe.
 */
public interface Permit extends Lease {

    /**
     * Returns how many permits these are.
     *
     * @return at least 1
     */
    int permits();

    /**
     * Returns the number of this holder among those of the semaphore: it has one slot, however many permits it has, and nobody
     * else has that slot until this grant has ended. A holder gets the lowest slot that is free (on etcd sometimes a higher one).
     * Use it to pick one of as many connections, shards or directories; compare {@linkplain #token() tokens} within a slot only.
     *
     * @return from 1 to the semaphore's limit when this was granted
     */
    int slot();
}
