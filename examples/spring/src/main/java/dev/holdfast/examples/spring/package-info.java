/**
 * Locks in a Spring Boot application: {@link dev.holdfast.examples.spring.ShopApplication} makes the client a bean,
 * {@link dev.holdfast.examples.spring.Accounts} locks within a transaction, {@link dev.holdfast.examples.spring.NightlyReport}
 * runs once in a cluster.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.examples.spring;
