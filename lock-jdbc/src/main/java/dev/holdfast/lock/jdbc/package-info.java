/**
 * Locks on PostgreSQL, MySQL, MariaDB and H2. Start at {@link dev.holdfast.lock.jdbc.JdbcLocks#builder}, which takes the
 * application's own {@link javax.sql.DataSource}, or at {@code LockClient.connect("jdbc:…")}, which makes a pool of its
 * own.
 *
 * <p>A lock is a row of one table that the database's own clock expires. {@link dev.holdfast.lock.jdbc.JdbcStrategy} describes
 * the ways to keep it. The tables are described by the files {@code version-….sql} and {@code unique-….sql} next to this
 * package's classes, one for each kind of database, to be run unchanged by a migration tool; they are never created
 * unless that is asked for.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.jdbc;
