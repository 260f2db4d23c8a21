package dev.holdfast.lock.spi;

import dev.holdfast.lock.Demand;

/**
 * The identity of one acquisition, from its first attempt to its release. Immutable.
 *
 * @param name the lock's name, valid by {@link LockName}
 * @param owner the identity of this acquisition, never used for another one
 * @param demand what it asks for: never changes, so that a request about it can go straight to where a store keeps such
 */
public record AcquisitionId(String name, OwnerId owner, Demand demand) {

    /**
     * Makes the identity of an acquisition of a lock for itself alone.
     *
     * @param name as above
     * @param owner as above
     */
    public AcquisitionId(String name, OwnerId owner) {
        this(name, owner, Demand.EXCLUSIVE);
    }
}
