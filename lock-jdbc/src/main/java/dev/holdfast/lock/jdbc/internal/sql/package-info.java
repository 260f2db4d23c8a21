/**
 * Parts of SQL that are the same for all databases: names of tables, parameters, results, and failures.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.jdbc.internal.sql;
