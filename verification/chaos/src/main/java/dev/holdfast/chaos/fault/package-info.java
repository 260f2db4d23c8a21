/** What goes wrong during a run: drawn from the seed by {@link dev.holdfast.chaos.fault.Schedule}, done by an injector. */
@org.jspecify.annotations.NullMarked
package dev.holdfast.chaos.fault;
