/**
 * The databases: one {@code DatabaseDialect} for each, with its statements, its schema and its checks. What error codes mean is in
 * {@code sql.JdbcFailure}, and what concerns drivers in package {@code connection}.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.jdbc.internal.dialect;
