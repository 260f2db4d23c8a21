package dev.holdfast.lock.spi;

/**
 * One contender's way from its first attempt to its release. Immutable.
 *
 * @param name the lock's name, valid by {@link LockName}
 * @param owner the identity of this acquisition, never used for another one
 */
public record Acquisition(String name, OwnerId owner) {}
