/**
 * Spring Integration's {@code LockRegistry} on Holdfast: {@link dev.holdfast.lock.spring.integration.HoldfastLockRegistry}.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.spring.integration;
