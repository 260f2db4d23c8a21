/**
 * The interface of backends; start at {@link dev.holdfast.lock.spi.LockBackend}. A backend communicates with its store.
 * Threads, re-entry, local waiters and timers are the engine's task. {@code docs/adding-a-backend.md} explains it with an
 * example.
 *
 * <p>Wall-clock times appear only in {@code holder}, for display. Leases are durations in milliseconds, and the engine counts
 * validity from before it sent the request that was acknowledged.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.spi;
