/**
 * Hostile houses: surroundings of a client that are not a fault of a network or server, such as a pooler, a time zone, a log that blocks.
 * A test of one carries {@link dev.holdfast.lock.testkit.house.House} and holds
 * {@link dev.holdfast.lock.testkit.house.BystanderLocks}; {@code bin/verify --house} runs these tests and prints a row for each house.
 */
@NullMarked
package dev.holdfast.lock.testkit.house;

import org.jspecify.annotations.NullMarked;
