package dev.holdfast.lock.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Deletes the rows of locks that nobody has held for ten minutes, and nothing else. Looks once a minute at most, and only
 * after a release, so that an idle client costs nothing. Ten minutes are longer than any statement of ours may take, which
 * {@link Tokens} relies on.
 *
 * <p>The rows are read without locks and then deleted by name, each under the same condition, so that a row that is in use
 * is not even locked.
 *
 * <p>Thread-safe.
 */
final class Sweeper {
    private static final Logger LOG = LoggerFactory.getLogger(Sweeper.class);
    private static final Duration KEEP = Duration.ofMinutes(10);
    private static final long PERIOD_NANOS = Duration.ofMinutes(1).toNanos();
    private static final long TIMEOUT_MILLIS = 10_000;
    private static final int MOST_AT_ONCE = 500;

    private final Database database;
    private final AtomicLong lastNanos = new AtomicLong(System.nanoTime());

    Sweeper(Database database) {
        this.database = database;
    }

    /** Something was released; now and then, this starts a sweep on another thread. */
    void released() {
        long last = lastNanos.get();
        long now = System.nanoTime();
        if (now - last > PERIOD_NANOS && lastNanos.compareAndSet(last, now)) {
            database.inBackground(this::sweepQuietly);
        }
    }

    private void sweepQuietly() {
        try {
            sweep(KEEP);
        } catch (SQLException e) {
            LOG.debug("lock table '{}': sweep failed, the next one will do it", database.table(), e);
        }
    }

    /** Deletes what ended so long ago; returns the number of rows. */
    int sweep(Duration keep) throws SQLException {
        String old = "expires < " + database.dialect().nowPlusMillis("(" + -keep.toMillis() + ")");
        return database.run(TIMEOUT_MILLIS, connection -> {
            List<byte[]> names = names(connection, old);
            return names.isEmpty() ? 0 : delete(connection, names, old);
        });
    }

    private List<byte[]> names(Connection connection, String old) throws SQLException {
        String select = "SELECT name FROM " + database.table() + " WHERE " + old;
        List<byte[]> names = new ArrayList<>();
        try (PreparedStatement statement = connection.prepareStatement(select)) {
            statement.setMaxRows(MOST_AT_ONCE);
            try (ResultSet rows = statement.executeQuery()) {
                while (rows.next()) {
                    names.add(rows.getBytes(1));
                }
            }
        }
        return names;
    }

    private int delete(Connection connection, List<byte[]> names, String old) throws SQLException {
        String marks = String.join(", ", Collections.nCopies(names.size(), "?"));
        String delete = Rows.PASSING + "DELETE FROM " + database.table() + " WHERE name IN (" + marks + ") AND " + old;
        try (PreparedStatement statement = connection.prepareStatement(delete)) {
            for (int i = 0; i < names.size(); i++) {
                statement.setBytes(i + 1, names.get(i));
            }
            return statement.executeUpdate();
        }
    }
}
