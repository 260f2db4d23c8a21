/**
 * The program behind {@code bin/bench}.
 */
@NullMarked
package dev.holdfast.benchmarks.cli;

import org.jspecify.annotations.NullMarked;
