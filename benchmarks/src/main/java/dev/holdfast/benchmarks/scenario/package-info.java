/**
 * What is measured, by the parent: {@link dev.holdfast.benchmarks.scenario.Scenario} first. All candidates of a store take
 * turns in rounds, so that whatever disturbs the machine disturbs all of them.
 */
@NullMarked
package dev.holdfast.benchmarks.scenario;

import org.jspecify.annotations.NullMarked;
