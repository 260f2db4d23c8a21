/**
 * JMH benchmarks of the engine alone, on the memory backend.
 */
@NullMarked
package dev.holdfast.benchmarks.micro;

import org.jspecify.annotations.NullMarked;
