package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.spi.AcquisitionId;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLTransactionRollbackException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The statements that clear a row's owner, and set its expiry to the present, from which the claim of the first in its
 * {@link WaitingLine} counts. On PostgreSQL they notify if somebody has announced to wait. There the commit does not wait for the disk:
 * if a crash takes it back, the lock ends with its lease, and whatever is granted later is written down behind it. Thread-safe.
 */
final class FreeingStatements {
    /** Whether somebody has announced to wait. */
    static final String AWAITED = "awaited {>} pg_catalog.clock_timestamp()";

    /** Tells of which name, by its hash, and who waits in its line. */
    static final String NOTIFY = "CAST(pg_catalog.pg_notify('%s', pg_catalog.encode(pg_catalog.sha256(name), 'hex')"
            + " OPERATOR(pg_catalog.||) ' ' OPERATOR(pg_catalog.||) " + WaitingLine.COLUMN + ") AS pg_catalog.text)";

    private static final String POSTGRES = """
            WITH relaxed AS MATERIALIZED (SELECT pg_catalog.set_config('synchronous_commit', 'off', true) AS value),
            freed AS (
              UPDATE %s SET %s FROM relaxed, (SELECT %s AS me, %s AS entry) AS asking
              WHERE relaxed.value IS NOT NULL AND name {=} ? AND %s
              RETURNING name, owner, awaited, waiters)
            SELECT CASE WHEN owner IS NULL AND %s THEN %s END FROM freed""";

    private static final Logger LOG = LoggerFactory.getLogger(FreeingStatements.class);

    private final boolean postgres;
    private final TableName table;
    private final String release;
    private final String abandon;
    private final String silentRelease;
    private final String silentAbandon;

    /** False once the database has refused to notify: whoever waits polls. */
    private volatile boolean notifies;

    FreeingStatements(Dialect dialect, TableName table) {
        this.table = table;
        postgres = dialect == Dialect.POSTGRESQL;
        notifies = postgres;
        WaitingLine line = new WaitingLine(dialect);
        String entry = postgres ? "asking.entry" : "?";
        String mine = "owner " + dialect.operator("=") + (postgres ? " asking.me" : " ?");
        String freed = "owner = NULL, expires = " + dialect.now();
        String held = mine + " AND expires " + dialect.operator(">") + " " + dialect.now();
        String given =
                "expires = CASE WHEN " + mine + " THEN " + dialect.now() + " ELSE expires END, owner = CASE WHEN "
                        + mine + " THEN NULL ELSE owner END, waiters = " + line.without(entry);
        String there = "(" + mine + " OR " + line.contains(entry) + ")";
        if (postgres) {
            String notify = NOTIFY.formatted(PostgresWakeups.channel(table));
            release = postgres(table, freed, held, notify);
            abandon = postgres(table, given, there, notify);
            silentRelease = postgres(table, freed, held, "'nobody'");
            silentAbandon = postgres(table, given, there, "'nobody'");
        } else {
            release = "UPDATE " + table + " SET " + freed + " WHERE name = ? AND " + held;
            abandon = "UPDATE " + table + " SET " + given + " WHERE name = ? AND " + there;
            silentRelease = release;
            silentAbandon = abandon;
        }
    }

    private static String postgres(TableName table, String set, String condition, String notify) {
        return PostgresSql.named(
                POSTGRES.formatted(table, set, PostgresSql.TEXT, PostgresSql.TEXT, condition, AWAITED, notify));
    }

    /** Whether it was held. The line stays. */
    boolean release(Connection connection, AcquisitionId held) throws SQLException {
        return free(connection, release, silentRelease, statement -> {
            Bind bind = new Bind(statement);
            if (postgres) {
                bind.owner(held).text("").name(held.name());
            } else {
                bind.name(held.name()).owner(held);
            }
        });
    }

    /** Removes what an acquisition may have: the row, or its place in the line. */
    void abandon(Connection connection, AcquisitionId acquisition) throws SQLException {
        // Permits have neither.
        String entry = acquisition.demand() instanceof Demand.Permits
                ? Bind.ownerOf(acquisition)
                : WaitingLine.entry(acquisition);
        free(connection, abandon, silentAbandon, statement -> {
            Bind bind = new Bind(statement);
            if (postgres) {
                bind.owner(acquisition).text(entry).name(acquisition.name());
            } else {
                bind.owner(acquisition)
                        .owner(acquisition)
                        .text(entry)
                        .name(acquisition.name())
                        .owner(acquisition)
                        .text(entry);
            }
        });
    }

    /** Without the right to notify, the waiters are left to their polls: the session tries again what is in conflict. */
    private boolean free(Connection connection, String loud, String silent, Parameters parameters) throws SQLException {
        if (!notifies) {
            return free(connection, silent, parameters);
        }
        try {
            return free(connection, loud, parameters);
        } catch (SQLException e) {
            if (!postgres || JdbcFailure.of(e) != JdbcFailure.NO_PERMISSION) {
                throw e;
            }
            notifies = false;
            LOG.debug("lock table '{}': the user may not notify, or not write; waiters poll", table, e);
            throw new SQLTransactionRollbackException("to be released without a notification", "40001");
        }
    }

    private boolean free(Connection connection, String sql, Parameters parameters) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            parameters.bind(statement);
            if (!postgres) {
                return statement.executeUpdate() > 0;
            }
            try (ResultSet rows = statement.executeQuery()) {
                return rows.next();
            }
        }
    }

    @FunctionalInterface
    private interface Parameters {
        void bind(PreparedStatement statement) throws SQLException;
    }
}
