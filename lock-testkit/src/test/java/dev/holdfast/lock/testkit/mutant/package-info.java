/**
 * Locks that are broken on purpose. Each must fail the contract: see {@link dev.holdfast.lock.testkit.mutant.MutantsTest}.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.testkit.mutant;
