/**
 * Spring Boot's auto-configuration of a {@link dev.holdfast.lock.LockClient}; {@link
 * dev.holdfast.lock.spring.boot.HoldfastProperties} lists what an application can set. Applications do not call this package.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.spring.boot;
