/** Locks with one thing wrong each, to show that the checkers see it. */
@org.jspecify.annotations.NullMarked
package dev.holdfast.chaos.mutant;
