/**
 * Locks in this JVM's memory, for unit tests: open {@code memory:name} with
 * {@link dev.holdfast.lock.LockClient#connect(String)}, or make a
 * {@link dev.holdfast.lock.memory.MemoryStore} whose time the test moves itself.
 *
 * <p>It is the reference of the backend contract: strict queues, prompt signals, expiry by an injected ticker. Nothing
 * survives the JVM, and nothing is shared between JVMs.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.memory;
