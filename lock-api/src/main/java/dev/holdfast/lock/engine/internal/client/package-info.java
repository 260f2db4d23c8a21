/**
 * The handles that users get, and how their calls become waiters. Start at
 * {@link dev.holdfast.lock.engine.internal.client.EngineClient}.
 *
 * <p>An {@link dev.holdfast.lock.engine.internal.client.Acquirer} submits a waiter to the entry of the name, and waits for its decision;
 * {@link dev.holdfast.lock.engine.internal.client.BlockingCalls} parks threads and ends their holds.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.engine.internal.client;
