package dev.holdfast.lock.jdbc.internal.expiring;

import dev.holdfast.lock.jdbc.internal.connection.Database;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialect;
import dev.holdfast.lock.jdbc.internal.sql.ExpiryRows;
import dev.holdfast.lock.jdbc.internal.sql.Tokens;
import dev.holdfast.lock.spi.support.BackgroundLog;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Deletes the rows of locks that were free for ten minutes, and nothing else. Looks once a minute at most, and only
 * after a release, so that an idle client costs nothing; what it finds then, it deletes, for five seconds at most, and goes on
 * after the next release if that was not all. Ten minutes are longer than any statement of ours may take, which
 * {@link Tokens} relies on.
 *
 * <p>The rows are found by an index of their times, read without locks and then deleted by name, 500 at a time, each under the same condition, so that a row that is in use
 * is not even locked.
 *
 * <p>Only rows with lower tokens than the one that was just released go. So the table always has the greatest token that was
 * granted, and a sequence that was lost can start behind it.
 *
 * <p>Thread-safe.
 */
public final class Sweeper {
    private static final BackgroundLog LOG = BackgroundLog.of(Sweeper.class);
    private static final Duration KEEP = Duration.ofMinutes(10);
    private static final long PERIOD_NANOS = Duration.ofMinutes(1).toNanos();
    private static final long BUDGET_NANOS = Duration.ofSeconds(5).toNanos();
    private static final long TIMEOUT_MILLIS = 10_000;
    private static final int MAX_AT_ONCE = 500;

    private final Database database;
    private final long budgetNanos;
    private final AtomicLong lastNanos = new AtomicLong(System.nanoTime());

    public Sweeper(Database database) {
        this(database, BUDGET_NANOS);
    }

    /** With another time for each sweep. */
    public Sweeper(Database database, long budgetNanos) {
        this.database = database;
        this.budgetNanos = budgetNanos;
    }

    /** A lock with that token was released; now and then, this starts a sweep on another thread. */
    void released(long token) {
        long last = lastNanos.get();
        long now = System.nanoTime();
        if (now - last > PERIOD_NANOS && lastNanos.compareAndSet(last, now)) {
            database.inBackground(() -> sweepQuietly(token));
        }
    }

    private void sweepQuietly(long token) {
        try {
            sweep(KEEP, token);
        } catch (SQLException e) {
            LOG.debug("lock table '{}': sweep failed, the next one will do it", database.table(), e);
        }
    }

    /** Deletes rows that ended that long ago, with lower tokens than the given one, until the time is up; returns their number. */
    public int sweep(Duration keep, long token) throws SQLException {
        long startNanos = System.nanoTime();
        String before = database.dialect().nowPlusMillis("(" + -keep.toMillis() + ")");
        String select = select(before, token);
        int deleted = 0;
        while (true) {
            List<byte[]> names = database.run(TIMEOUT_MILLIS, connection -> names(connection, select));
            int now =
                    names.isEmpty() ? 0 : database.run(TIMEOUT_MILLIS, connection -> delete(connection, names, before));
            deleted += now;
            if (names.size() < MAX_AT_ONCE || now == 0) {
                return deleted;
            }
            if (System.nanoTime() - startNanos > budgetNanos) {
                lastNanos.addAndGet(-PERIOD_NANOS); // there is more: the next release goes on with it
                return deleted;
            }
        }
    }

    String select(String before, long token) {
        String once = database.dialect().sameForAllRows(before);
        return "SELECT name FROM " + database.table() + " WHERE " + older("expires", once) + " AND "
                + older("token", Long.toString(token)) + " ORDER BY expires "
                + database.dialect().firstRows(Integer.toString(MAX_AT_ONCE));
    }

    private String older(String column, String than) {
        return column + " " + database.dialect().operator("<") + " " + than;
    }

    private static List<byte[]> names(Connection connection, String select) throws SQLException {
        List<byte[]> names = new ArrayList<>();
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(select)) {
            while (rows.next()) {
                names.add(rows.getBytes(1));
            }
        }
        return names;
    }

    private int delete(Connection connection, List<byte[]> names, String before) throws SQLException {
        DatabaseDialect dialect = database.dialect();
        String delete = ExpiryRows.PASSING + "DELETE FROM " + database.table() + " WHERE "
                + dialect.nameIsOneOf(names.size()) + " AND "
                + older(dialect.unindexed("expires"), before);
        try (PreparedStatement statement = connection.prepareStatement(delete)) {
            dialect.bindNames(connection, statement, names);
            return statement.executeUpdate();
        }
    }
}
