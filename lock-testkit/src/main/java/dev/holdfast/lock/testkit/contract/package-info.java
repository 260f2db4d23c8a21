/**
 * The groups of the contract that look at the API: what every store promises to a caller. {@link dev.holdfast.lock.testkit.LockContract}
 * runs them all.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.testkit.contract;
