/** The rules that a history must keep, each a {@link dev.holdfast.chaos.check.Check}. */
@org.jspecify.annotations.NullMarked
package dev.holdfast.chaos.check;
