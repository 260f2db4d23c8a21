/**
 * The databases: one {@code DatabaseDialect} for each, with its statements, its schema, its checks and what its errors mean.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.jdbc.internal.dialect;
