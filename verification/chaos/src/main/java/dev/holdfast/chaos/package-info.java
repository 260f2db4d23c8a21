/** Locks under faults; {@link dev.holdfast.chaos.ChaosMain} is the command. */
@org.jspecify.annotations.NullMarked
package dev.holdfast.chaos;
