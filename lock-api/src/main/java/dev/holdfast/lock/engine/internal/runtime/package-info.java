/**
 * Clocks, timers, threads, mutexes and log lines of a client. Start at
 * {@link dev.holdfast.lock.engine.internal.runtime.EngineRuntime}. It depends on no other part of the engine.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.engine.internal.runtime;
