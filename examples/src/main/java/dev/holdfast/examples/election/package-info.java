/**
 * The election: several JVMs stand, one leads, and the leaders are killed in turn. Start at
 * {@link dev.holdfast.examples.election.ElectionDemo}, which starts {@link dev.holdfast.examples.election.Candidate} in JVMs
 * of their own and lets {@link dev.holdfast.examples.election.Judge} judge what these claimed.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.examples.election;
