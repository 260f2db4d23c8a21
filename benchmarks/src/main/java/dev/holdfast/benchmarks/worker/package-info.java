/**
 * The processes that lock. {@link dev.holdfast.benchmarks.worker.Worker} is the program of a child JVM, which obeys lines
 * on its standard input; {@link dev.holdfast.benchmarks.worker.WorkerProcess} is the parent's end of it.
 */
@NullMarked
package dev.holdfast.benchmarks.worker;

import org.jspecify.annotations.NullMarked;
