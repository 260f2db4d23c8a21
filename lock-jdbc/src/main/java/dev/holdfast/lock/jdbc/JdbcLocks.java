package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.engine.LockEngine;
import dev.holdfast.lock.spi.LockBackend;
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
 * <p>The data source may be any pool, with any isolation level, with auto-commit on or off, read-only by default or not:
 * it gets each connection back as it was. A connection is borrowed for the length of one statement only, but for the one
 * that listens for PostgreSQL's notifications while there are waiters, and for {@link JdbcStrategy#ROW_LOCK}. No call
 * outlives its deadline, however long the pool waits for a connection: then a thread of the client waits for it. That costs two
 * thread switches a request, unless it is a HikariCP pool whose connection and validation time-outs fit together into
 * {@link LockClientOptions#requestTimeout()}.
 *
 * <p>While the application has taken all connections of a HikariCP pool, the client makes up to two of its own, with the same
 * settings, to renew and to release. Any other pool needs more connections than there are threads that wait for a lock inside
 * a transaction.
 *
 * <p>A client has at most 16 threads, with {@link JdbcStrategy#ROW_LOCK} two more for each connection that it keeps.
 */
public final class JdbcLocks {
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
     * Locks a name until the current transaction of a connection ends, by commit or rollback. One round trip (six on
     * MySQL; on H2, no network but a few statements), no other connection, nothing to release, and atomic with what the
     * transaction writes. For transactions that use only this database; for everything else use a lease.
     *
     * <p><b>Take the lock before the transaction reads, or use READ COMMITTED.</b> At the stricter levels, MySQL's and MariaDB's
     * default among them, a transaction keeps seeing what was committed when it first read. If another transaction has
     * had the lock since then, its writes would not be seen and be overwritten, so the lock is refused. PostgreSQL and
     * H2 take that first look before they wait for the lock, so that above READ COMMITTED the same happens after each
     * wait for a transaction that commits; H2 at REPEATABLE READ is refused at once.
     *
     * <p>Excludes only other callers of this method on the same database: these locks are rows of the table
     * {@code holdfast_transaction} (schema files {@code transaction-….sql}), not those of a {@link LockClient}. It is
     * re-entrant within a transaction, with a new token each time.
     *
     * <p>The token strictly rises from one committed transaction to the next; a transaction that rolls back takes its token
     * back as well. A wait is bounded by the database: to the millisecond on PostgreSQL and H2, to the second, rounded down, on
     * MariaDB and MySQL, which refuse a wait between zero and a second; on MySQL zero waits for up to a second. If it is not granted, PostgreSQL has aborted the
     * transaction; roll it back everywhere.
     *
     * @param connection the caller's, with auto-commit off
     * @param name any valid lock name
     * @param wait how long to wait while another transaction has it; zero for not at all
     * @return the fencing token
     * @throws dev.holdfast.lock.LockTimeoutException if another transaction has it for so long
     * @throws LockUnavailableException if another transaction has had it since this one first read, above READ COMMITTED; if the
     *     database has chosen this transaction to be tried again (deadlock, serialization); or if it does not answer
     * @throws LockConfigurationException if the table is missing; the message tells the statement to run
     * @throws IllegalArgumentException if the name is not acceptable, the wait negative, or too short for the database to keep
     * @throws IllegalStateException if the connection has auto-commit on, or is one of H2 at REPEATABLE READ
     */
    public static long lockInTransaction(Connection connection, String name, Duration wait) {
        return TransactionLock.lock(connection, name, wait);
    }

    /**
     * Creates the table of {@link #lockInTransaction}, if it is missing; needs the right to create tables then. Several
     * processes may do so at once. Does not take part in the calling thread's transaction.
     *
     * @param dataSource leads to PostgreSQL, MySQL, MariaDB or H2; never closed
     * @param timeout how long all of it may take
     * @throws LockConfigurationException if the database is not a supported one or refuses; the message tells the statement to
     *     run
     * @throws LockUnavailableException if it does not answer within the time
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
         * Sets the name of the table, in the schema that the connection uses by default or in the one that is named before a
         * dot: {@code shop.locks}. Name the schema where other users may create tables in one of the connection's.
         *
         * @param table a letter or {@code _}, then at most 62 letters, digits and {@code _}, and the same before it for a schema;
         *     not quoted, so the database folds its case as usual; by default the strategy's own, see {@link JdbcStrategy}
         * @return this
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
         * @param createTable true to create it; by default false: a missing table is an error that tells the statement
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
         * ten seconds longer. Where notifications do not arrive, as behind a proxy that pools transactions, waiters poll all
         * the same. Without effect on other databases.
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
         * must have one connection more, at least.
         *
         * @param maxRowLocks at least 1; by default one less than a HikariCP pool's maximum, or 8 with other data sources
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
         * @throws LockConfigurationException if the database is not a supported one, refuses access, or lacks the table;
         *     the message tells the statement to run
         * @throws LockUnavailableException if it does not answer within {@link LockClientOptions#requestTimeout()}
         */
        public LockClient build() {
            LockClientOptions chosen = options == null ? LockClientOptions.defaults() : options;
            return LockEngine.client(backend(chosen), chosen);
        }

        /** Sets the end of a time for building that has begun already. */
        Builder deadline(long deadlineNanos) {
            this.deadlineNanos = deadlineNanos;
            return this;
        }

        LockBackend backend(LockClientOptions chosen) {
            LockTable kind = (strategy == null ? JdbcStrategy.VERSION : strategy).table();
            TableName name = table == null ? kind.defaultTable() : table;
            var request = new Database.SchemaRequest(kind, name, Boolean.TRUE.equals(createTable));
            long timeoutMillis = Math.max(1, chosen.requestTimeout().toMillis());
            long openedBy = deadlineNanos == null
                    ? System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMillis)
                    : deadlineNanos;
            Connections connections =
                    own ? Connections.own(dataSource, timeoutMillis) : Connections.shared(dataSource, timeoutMillis);
            if (kind != LockTable.ROW_LOCK) {
                Database database = Database.openBy(openedBy, connections, request, timeoutMillis, closeDataSource);
                boolean called = notifications == null ? RowSessions.poolSize(dataSource) >= 3 : notifications;
                return ExpiringRowBackend.of(
                        kind,
                        database,
                        called && database.dialect().supportsNotifications() ? new PostgresWakeups(database) : null,
                        System::nanoTime);
            }
            int limit = maxRowLocks == null ? RowSessions.limit(dataSource) : maxRowLocks;
            Database database = Database.openBy(openedBy, connections, request, timeoutMillis, closeDataSource);
            return LockedRowBackend.of(database, limit, timeoutMillis);
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
