package dev.holdfast.lock;

/**
 * Permits of a {@link DistributedSemaphore} that were acquired together; closing this object releases all of them. Like any
 * {@link Lease} it is limited in time and renewed in the background, and its permits are {@linkplain #lost() lost} together.
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
     * Returns this holder's slot number. Each holder has one slot, however many permits it has, and no other holder gets that
     * slot until this grant has ended. A holder gets the lowest free slot (on etcd sometimes a higher one). Use it to select
     * one of a fixed number of connections, shards or directories; compare {@linkplain #token() tokens} within one slot only.
     *
     * @return from 1 to the semaphore's limit when this was granted
     */
    int slot();
}
