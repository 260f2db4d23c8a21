/**
 * The state of each name that this client uses: its queue of waiters, its pending acquisition, or its held lock. Start at
 * {@code LockEntry}. Everything of a name changes under the mutex of its entry.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.engine.internal.queue;
