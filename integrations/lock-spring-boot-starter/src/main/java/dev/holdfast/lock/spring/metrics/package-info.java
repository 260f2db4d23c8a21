/** Meters of the application's locks, and observations of its guarded calls, where Micrometer is. */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.spring.metrics;
