/**
 * The stores, started for a run in processes of their own and asked how many commands they served;
 * {@link dev.holdfast.benchmarks.server.Store} first.
 */
@NullMarked
package dev.holdfast.benchmarks.server;

import org.jspecify.annotations.NullMarked;
