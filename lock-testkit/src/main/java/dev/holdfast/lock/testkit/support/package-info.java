/**
 * Helpers of tests: recorders and checkers of histories, captured logs, awkward names, bounded waits.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.testkit.support;
