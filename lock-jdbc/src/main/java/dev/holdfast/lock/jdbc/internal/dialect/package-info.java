/**
 * The databases: one {@code DatabaseDialect} for each, listed in {@code DatabaseDialects}, with its statements, its schema, its
 * checks, what its error codes mean and, in package {@code driver}, its addresses. No other package names a database.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.jdbc.internal.dialect;
