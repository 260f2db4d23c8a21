/**
 * Locks on PostgreSQL, MySQL, MariaDB and H2. Start at {@link dev.holdfast.lock.jdbc.JdbcLocks#builder}, which takes the
 * application's own {@link javax.sql.DataSource}, or at {@code LockClient.connect("jdbc:…")}, which makes a pool of its
 * own.
 *
 * <p>A lock is a row of one table that the database's own clock expires. The table is described by the files
 * {@code version-postgresql.sql}, {@code version-mysql.sql} and {@code version-h2.sql} beside this package's classes, to
 * be run as they are by a migration tool; it is never created unless that is asked for.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.jdbc;
