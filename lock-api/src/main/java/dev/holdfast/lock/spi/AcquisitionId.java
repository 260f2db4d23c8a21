package dev.holdfast.lock.spi;

import dev.holdfast.lock.Demand;

/**
 * The identity of one acquisition, from its first attempt to its release. Immutable.
 *
 * @param name the lock's name, valid by {@link LockName}
 * @param owner the unique owner id of this acquisition
 * @param demand its demand; it never changes, so that requests for this acquisition can go directly to where the store keeps
 *     such demands
 */
public record AcquisitionId(String name, OwnerId owner, Demand demand) {

    /**
     * Creates the identity of an exclusive acquisition.
     *
     * @param name as above
     * @param owner as above
     */
    public AcquisitionId(String name, OwnerId owner) {
        this(name, owner, Demand.EXCLUSIVE);
    }
}
