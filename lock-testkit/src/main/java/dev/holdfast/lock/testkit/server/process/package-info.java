/**
 * Processes of test servers: how they are started, paused, killed and cleaned up, natively or in containers.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.testkit.server.process;
