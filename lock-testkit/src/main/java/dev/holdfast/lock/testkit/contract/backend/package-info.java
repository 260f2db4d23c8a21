/**
 * The groups of the contract that look at the SPI alone: what a backend promises to the engine.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.testkit.contract.backend;
