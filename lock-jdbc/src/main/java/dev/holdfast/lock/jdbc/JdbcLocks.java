package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.engine.LockEngine;
import dev.holdfast.lock.jdbc.internal.connection.Connections;
import dev.holdfast.lock.jdbc.internal.connection.Database;
import dev.holdfast.lock.jdbc.internal.dialect.LockTable;
import dev.holdfast.lock.jdbc.internal.expiring.ExpiringRowBackend;
import dev.holdfast.lock.jdbc.internal.notification.Wakeups;
import dev.holdfast.lock.jdbc.internal.rowlock.LockedRowBackend;
import dev.holdfast.lock.jdbc.internal.rowlock.RowSessionPool;
import dev.holdfast.lock.jdbc.internal.session.SessionLockBackend;
import dev.holdfast.lock.jdbc.internal.sql.TableName;
import dev.holdfast.lock.jdbc.internal.transaction.TransactionLock;
import dev.holdfast.lock.jdbc.internal.transaction.TransactionTable;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.support.EarlyClasses;
import java.sql.Connection;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * Locks on the application's own database.
 *
 * <pre>{@code
 * LockClient client = JdbcLocks.builder(dataSource).build();
 * }</pre>
 *
 * <p>The data source may be any pool, with any isolation level, auto-commit on or off, read-only by default or not.
 * Each connection is returned with the settings that it had. A connection is borrowed for one statement only. The
 * exceptions are {@link JdbcStrategy#ROW_LOCK}, {@link JdbcStrategy#SESSION}, and the connection that listens for
 * PostgreSQL's notifications while there are waiters. A call ends within its deadline, or within {@code requestTimeout}
 * while the database is silent, however long the pool takes to provide a connection: a thread of
 * the client waits for the pool instead of the caller. That costs two thread switches a request. A HikariCP pool
 * whose connection and validation time-outs fit together into {@link LockClientOptions#requestTimeout()} needs none.
 *
 * <p>If the application uses all connections of a HikariCP pool, the client opens up to two connections with the same
 * settings, to renew and to release. Any other pool needs more connections than there are threads that wait for a
 * lock inside a transaction.
 *
 * <p>A client has at most 16 threads. With {@link JdbcStrategy#ROW_LOCK} it has two more for each connection that it
 * keeps, with {@link JdbcStrategy#SESSION} one more for each lock that it waits for, and one for each call under way.
 */
public final class JdbcLocks {
    /** Those that neither the start of a client nor its first lock initializes. */
    private static final String[] LATE_CLASSES = {
        "internal.connection.JdbcFailureTranslator$1",
        "internal.connection.SafeMessages",
        "internal.dialect.ServerCheck$1",
        "internal.expiring.SharedRow",
        "internal.sql.RecentContention",
    };

    private JdbcLocks() {}

    /**
     * Starts a builder of a client on a data source.
     *
     * @param dataSource leads to PostgreSQL, MySQL, MariaDB or H2; never closed by the client
     * @return a builder with nothing else set
     */
    public static Builder builder(DataSource dataSource) {
        return new Builder(Objects.requireNonNull(dataSource, "dataSource must not be null"), false, () -> {});
    }

    /**
     * Locks a name until the current transaction of a connection ends, by commit or rollback. It takes one round trip (six
     * on MySQL; a few local statements on H2) and no other connection. There is nothing to release, and the lock is atomic
     * with the transaction's writes. Suited to transactions that use only this database; for everything else use a lease.
     *
     * <p><b>Take the lock before the transaction reads, or use READ COMMITTED.</b> At the stricter levels, which include
     * the default of MySQL and MariaDB, a transaction sees what was committed when it first read. If another transaction
     * has held the lock since then, this transaction would overwrite writes that it cannot see. The lock is therefore
     * refused. PostgreSQL and H2 take their snapshot before they wait for the lock. Above READ COMMITTED they therefore
     * refuse the lock after each wait for a transaction that commits. H2 at REPEATABLE READ is refused at once.
     *
     * <p>Excludes only other callers of this method on the same database: these locks are rows of the table
     * {@code holdfast_transaction} (schema files {@code transaction-….sql}), not those of a {@link LockClient}. It is
     * re-entrant within a transaction, with a new token each time.
     *
     * <p>The token strictly rises from one committed transaction to the next. A rollback undoes its token as well. The
     * database bounds the wait: PostgreSQL and H2 to the millisecond, MariaDB and MySQL to the second, rounded down. The
     * latter two refuse a wait between zero and one second, and on MySQL a wait of zero takes up to a second. If the lock
     * is not granted, PostgreSQL has aborted the transaction; roll it back on every database.
     *
     * @param connection the caller's, with auto-commit off
     * @param name any valid lock name
     * @param wait how long to wait while another transaction holds the lock; zero to fail at once
     * @return the fencing token
     * @throws dev.holdfast.lock.LockTimeoutException if another transaction holds the lock for the whole wait
     * @throws LockUnavailableException if another transaction has held the lock since this one first read, above READ
     *     COMMITTED; if the database has aborted this transaction because of a deadlock or a serialization failure; or if
     *     the database does not answer
     * @throws LockConfigurationException if the table is missing, or cannot keep locks: it has no primary key, another engine
     *     than InnoDB, or is unlogged or temporary; the message contains the statement to run. Also on a cluster in which
     *     several servers accept writes. This is queried once for each address in a process
     * @throws IllegalArgumentException if the name is not acceptable, the wait negative, or too short for the database to keep
     * @throws IllegalStateException if the connection has auto-commit on, or is one of H2 at REPEATABLE READ
     */
    public static long lockInTransaction(Connection connection, String name, Duration wait) {
        return TransactionLock.lock(connection, name, wait);
    }

    /**
     * Creates the table of {@link #lockInTransaction} if it is missing, which needs the right to create tables. Several
     * processes may call this at once. Does not take part in the calling thread's transaction.
     *
     * @param dataSource leads to PostgreSQL, MySQL, MariaDB or H2; never closed
     * @param timeout limit for the whole call
     * @throws LockConfigurationException if the database is not supported or refuses; the message contains the statement
     *     to run
     * @throws LockUnavailableException if the database does not answer in time
     */
    public static void createTransactionTable(DataSource dataSource, Duration timeout) {
        TransactionTable.create(
                Objects.requireNonNull(dataSource, "dataSource must not be null"),
                Objects.requireNonNull(timeout, "timeout must not be null"));
    }

    /** A builder for a data source that the client owns and closes. */
    static Builder builder(DataSource dataSource, Runnable closeDataSource) {
        return new Builder(dataSource, true, closeDataSource);
    }

    /** Builds a {@link LockClient}; each value may be set once. Not thread-safe. */
    public static final class Builder {
        private final DataSource dataSource;
        private final boolean own;
        private final Runnable closeDataSource;
        private @Nullable LockClientOptions options;
        private @Nullable JdbcStrategy strategy;
        private @Nullable TableName table;
        private @Nullable Boolean createTable;
        private @Nullable Integer maxRowLocks;
        private @Nullable Boolean notifications;
        private @Nullable Long deadlineNanos;

        private Builder(DataSource dataSource, boolean own, Runnable closeDataSource) {
            this.dataSource = dataSource;
            this.own = own;
            this.closeDataSource = closeDataSource;
        }

        /**
         * Sets the client's options.
         *
         * @param options the options; by default {@link LockClientOptions#defaults()}
         * @return this
         * @throws IllegalStateException if already set
         */
        public Builder options(LockClientOptions options) {
            this.options = once("options", this.options, options);
            return this;
        }

        /**
         * Sets the strategy that keeps the locks. All clients of one table must use the same strategy; each has a default
         * table of its own.
         *
         * @param strategy the strategy; by default {@link JdbcStrategy#VERSION}
         * @return this
         * @throws IllegalStateException if already set
         */
        public Builder strategy(JdbcStrategy strategy) {
            this.strategy = once("strategy", this.strategy, strategy);
            return this;
        }

        /**
         * Sets the name of the table, in the connection's default schema or in a schema named before a dot:
         * {@code shop.locks}. Name the schema if other users may create tables in a schema of the connection's search path.
         *
         * @param table a letter or {@code _}, then at most 62 letters, digits and {@code _}; optionally preceded by a schema
         *     of the same form and a dot. It is not quoted, so the database folds its case as usual. By default the strategy's
         *     own table, see {@link JdbcStrategy}
         * @return this builder
         * @throws IllegalArgumentException if the name is not acceptable
         * @throws IllegalStateException if already set
         */
        public Builder table(String table) {
            this.table = once("table", this.table, new TableName(table));
            return this;
        }

        /**
         * Sets whether the table is created if it is missing, which needs the right to create tables.
         *
         * @param createTable true to create it; by default false: a missing table is an error whose message contains the
         *     statement to run
         * @return this
         * @throws IllegalStateException if already set
         */
        public Builder createTable(boolean createTable) {
            this.createTable = once("createTable", this.createTable, createTable);
            return this;
        }

        /**
         * Sets whether PostgreSQL's LISTEN and NOTIFY wake waiters, with strategies {@link JdbcStrategy#VERSION} and
         * {@link JdbcStrategy#UNIQUE_INDEX}. It takes one connection of the data source while this client waits for a lock and
         * ten seconds longer. If notifications do not arrive, for example behind a proxy that pools transactions, waiters
         * poll. Without effect on other databases.
         *
         * @param notifications true to use them; by default true if the data source is a HikariCP pool of three connections
         *     or more
         * @return this
         * @throws IllegalStateException if already set
         */
        public Builder notifications(boolean notifications) {
            this.notifications = once("notifications", this.notifications, notifications);
            return this;
        }

        /**
         * Sets how many connections strategy {@link JdbcStrategy#ROW_LOCK} may keep, one for each lock that this client holds
         * or waits for. Once they are in use, further attempts fail with {@link LockUnavailableException}. The data source
         * needs at least one connection more. With {@link JdbcStrategy#SESSION} one of them holds all locks that were free when
         * they were acquired, and each of the others a lock that was waited for; once they are in use, waiters poll.
         *
         * @param maxRowLocks at least 1; by default one less than the pool's maximum (HikariCP, DBCP, Tomcat, Druid, c3p0, UCP), or 8 with
         *     other data sources
         * @return this
         * @throws IllegalArgumentException if less than 1
         * @throws IllegalStateException if already set
         */
        public Builder maxRowLocks(int maxRowLocks) {
            if (maxRowLocks < 1) {
                throw new IllegalArgumentException("maxRowLocks must be at least 1, got " + maxRowLocks);
            }
            this.maxRowLocks = once("maxRowLocks", this.maxRowLocks, maxRowLocks);
            return this;
        }

        /**
         * Checks the database and creates the client.
         *
         * @return an open client
         * @throws LockConfigurationException if the database is not supported, refuses access, lacks the table, or has one that
         *     cannot keep locks (without primary key, with another engine than InnoDB, unlogged, temporary); the message
         *     contains the statement to run
         * @throws LockUnavailableException if the database does not answer within {@link LockClientOptions#requestTimeout()}
         */
        public LockClient build() {
            LockClientOptions chosen = options == null ? LockClientOptions.defaults() : options;
            return LockEngine.client(backend(chosen), chosen);
        }

        /** Sets the deadline of a build that has already started. */
        Builder deadline(long deadlineNanos) {
            this.deadlineNanos = deadlineNanos;
            return this;
        }

        LockBackend backend(LockClientOptions chosen) {
            EarlyClasses.initialize(JdbcLocks.class, LATE_CLASSES);
            LockTable kind = (strategy == null ? JdbcStrategy.VERSION : strategy).table();
            TableName name = table == null ? kind.defaultTable() : table;
            var request = new Database.SchemaRequest(kind, name, Boolean.TRUE.equals(createTable));
            long timeoutMillis = Math.max(1, chosen.requestTimeout().toMillis());
            long openedBy = deadlineNanos == null
                    ? System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMillis)
                    : deadlineNanos;
            Connections connections =
                    own ? Connections.own(dataSource, timeoutMillis) : Connections.shared(dataSource, timeoutMillis);
            if (kind != LockTable.ROW_LOCK && kind != LockTable.SESSION) {
                Database database = Database.openBy(openedBy, connections, request, timeoutMillis, closeDataSource);
                boolean called = notifications == null ? RowSessionPool.poolSize(dataSource) >= 3 : notifications;
                return ExpiringRowBackend.of(
                                kind,
                                database,
                                called ? Wakeups.of(database, System::nanoTime) : null,
                                System::nanoTime)
                        .requireRenewal(timeoutMillis);
            }
            int limit = maxRowLocks == null ? RowSessionPool.limit(dataSource, kind) : maxRowLocks;
            Database database = Database.openBy(openedBy, connections, request, timeoutMillis, closeDataSource);
            return kind == LockTable.SESSION
                    ? SessionLockBackend.of(database, Math.max(0, limit - 1), timeoutMillis)
                    : LockedRowBackend.of(database, limit, timeoutMillis);
        }

        private static <T> T once(String what, @Nullable T before, T value) {
            Objects.requireNonNull(value, what + " must not be null");
            if (before != null) {
                throw new IllegalStateException(what + " was already set to " + before);
            }
            return value;
        }
    }
}
