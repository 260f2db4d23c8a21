/**
 * The databases' own drivers, which each {@code DatabaseDialect} has: the form of their addresses, how a server is recognised, and
 * their parameters.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.jdbc.internal.dialect.driver;
