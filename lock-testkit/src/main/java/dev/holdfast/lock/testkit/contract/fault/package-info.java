/**
 * The groups of the contract in which something goes wrong: lost replies, lost leases, frozen servers, interrupts, cancellation.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.testkit.contract.fault;
