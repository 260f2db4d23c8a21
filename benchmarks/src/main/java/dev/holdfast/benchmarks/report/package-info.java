/**
 * Figures: {@link dev.holdfast.benchmarks.report.Results} collects them, the other classes compare and print them.
 */
@NullMarked
package dev.holdfast.benchmarks.report;

import org.jspecify.annotations.NullMarked;
