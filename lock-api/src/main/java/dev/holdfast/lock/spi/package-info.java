/**
 * What a backend implements; start at {@link dev.holdfast.lock.spi.LockBackend}. A backend talks to its store and knows
 * nothing of threads, re-entry, queues of waiters or timers: the engine has all of that, once. {@code
 * docs/adding-a-backend.md} goes through it with an example.
 *
 * <p>No wall clock crosses this boundary (but for {@code holder}, which is for people): leases are lengths in
 * milliseconds, and the engine counts validity from before it sent the request that was acknowledged.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.spi;
