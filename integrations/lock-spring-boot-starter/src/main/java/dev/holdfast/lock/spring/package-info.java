/**
 * Holdfast in a Spring application: {@link dev.holdfast.lock.spring.NamedLockOptions} has the options that properties name. The
 * {@link dev.holdfast.lock.LockClient} is a bean, which {@code dev.holdfast.lock.spring.boot} makes from {@code holdfast.uri} or
 * from the application's own data source or connection.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.spring;
