/** What the locks of a run guard: two counters a name, in the controller. */
@org.jspecify.annotations.NullMarked
package dev.holdfast.chaos.register;
