package dev.holdfast.lock.jdbc;

import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.jdbc.internal.dialect.Db;
import dev.holdfast.lock.jdbc.internal.dialect.Product;
import dev.holdfast.lock.spi.LockName;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;

/** What an administrator can see and do about row locks, on a connection of its own. */
final class RowLockAdministrator {
    private RowLockAdministrator() {}

    static boolean isLocked(Db db, String name) throws SQLException {
        long rows = number(db, "SELECT count(*) FROM holdfast_row WHERE name = ? AND part = 0", name);
        return rows == 1
                && number(db, "SELECT 1 FROM holdfast_row WHERE name = ? AND part = 0 FOR UPDATE SKIP LOCKED", name)
                        != 1;
    }

    /** Ends the session that the table names as the last holder's, and waits for its end. */
    static void kill(Db db, String name) throws Exception {
        long session = number(db, "SELECT session FROM holdfast_row WHERE name = ? AND part = 1", name);
        try (Connection connection = db.connect();
                var statement = connection.createStatement()) {
            statement.execute(
                    switch (Product.of(db.dialect)) {
                        case POSTGRESQL -> "SELECT pg_terminate_backend(" + session + ")";
                        case MARIADB, MYSQL -> "KILL " + session;
                        case H2 -> "CALL ABORT_SESSION(" + session + ")";
                    });
        }
        String alive = switch (Product.of(db.dialect)) {
            case POSTGRESQL -> "SELECT count(*) FROM pg_stat_activity WHERE pid = ";
            case MARIADB, MYSQL -> "SELECT count(*) FROM information_schema.processlist WHERE id = ";
            case H2 -> "SELECT count(*) FROM information_schema.sessions WHERE session_id = ";
        };
        await().atMost(Duration.ofSeconds(60)).until(() -> db.number(alive + session) == 0);
    }

    private static long number(Db db, String query, String name) throws SQLException {
        try (Connection connection = db.connect();
                PreparedStatement statement = connection.prepareStatement(query)) {
            statement.setBytes(1, LockName.utf8(name));
            try (ResultSet rows = statement.executeQuery()) {
                return rows.next() ? rows.getLong(1) : -1;
            }
        }
    }
}
