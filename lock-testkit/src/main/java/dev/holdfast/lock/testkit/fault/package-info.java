/**
 * Backends around backends: {@link dev.holdfast.lock.testkit.fault.CountingBackend} counts requests,
 * {@link dev.holdfast.lock.testkit.fault.FaultyBackend} loses, delays, repeats and refuses them. They work with any
 * backend and need no proxy.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.testkit.fault;
