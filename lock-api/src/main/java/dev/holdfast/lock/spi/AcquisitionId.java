package dev.holdfast.lock.spi;

/**
 * The identity of one acquisition, from its first attempt to its release. Immutable.
 *
 * @param name the lock's name, valid by {@link LockName}
 * @param owner the identity of this acquisition, never used for another one
 */
public record AcquisitionId(String name, OwnerId owner) {}
