/** The servers of a run; {@link dev.holdfast.chaos.cluster.Clusters} starts them. */
@org.jspecify.annotations.NullMarked
package dev.holdfast.chaos.cluster;
