/**
 * Locks in a Spring Boot application, {@link dev.holdfast.examples.spring.ShopApplication}:
 * {@link dev.holdfast.examples.spring.Accounts} locks within a transaction, {@link dev.holdfast.examples.spring.Statements} by
 * annotation, {@link dev.holdfast.examples.spring.NightlyReport} runs once in a cluster, and one instance is the leader.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.examples.spring;
