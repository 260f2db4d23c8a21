/**
 * Everything that is measured: one small class for each way to lock, {@link dev.holdfast.benchmarks.candidate.Candidate}
 * first. The raw client is the floor, Holdfast comes in variants, and the peers are used as their documentation says.
 */
@NullMarked
package dev.holdfast.benchmarks.candidate;

import org.jspecify.annotations.NullMarked;
