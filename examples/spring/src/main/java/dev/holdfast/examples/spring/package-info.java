/**
 * Locks in a Spring Boot application, {@link dev.holdfast.examples.spring.ShopApplication}:
 * {@link dev.holdfast.examples.spring.Accounts} locks within a transaction, {@link dev.holdfast.examples.spring.NightlyReport}
 * runs once in a cluster, and one instance is the {@link dev.holdfast.examples.spring.Leader}.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.examples.spring;
