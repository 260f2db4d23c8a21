package dev.holdfast.lock.jdbc;

import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.jdbc.internal.dialect.Db;
import dev.holdfast.lock.jdbc.internal.dialect.Product;
import dev.holdfast.lock.jdbc.internal.sql.SessionKey;
import dev.holdfast.lock.jdbc.internal.sql.SessionStatements;
import dev.holdfast.lock.jdbc.internal.sql.TableName;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;

/** What an administrator can see and do about session locks, on a connection of its own. */
final class SessionAdministrator {
    private static final TableName TABLE = new TableName("holdfast_session");

    private SessionAdministrator() {}

    /** The session that holds a name, or one of those that share it; 0 if it is free. */
    static long holder(Db db, String name) throws SQLException {
        return holder(db, TABLE, name);
    }

    static long holder(Db db, TableName table, String name) throws SQLException {
        try (Connection connection = db.connect()) {
            return db
                    .dialect
                    .sessionStatements(table)
                    .holders(connection, key(connection, db, table, name).lock())
                    .stream()
                    .mapToLong(SessionStatements.Holding::session)
                    .findFirst()
                    .orElse(0);
        }
    }

    static SessionKey key(Connection connection, Db db, TableName table, String name) throws SQLException {
        SessionStatements sql = db.dialect.sessionStatements(table);
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(sql.placeQuery())) {
            rows.next();
            return SessionKey.of(rows.getString(1), name);
        }
    }

    /** Ends the session that holds the name, and waits for its end. */
    static void kill(Db db, String name) throws Exception {
        kill(db, holder(db, name));
    }

    static void kill(Db db, TableName table, String name) throws Exception {
        kill(db, holder(db, table, name));
    }

    static void kill(Db db, long session) throws Exception {
        boolean postgres = Product.of(db.dialect) == Product.POSTGRESQL;
        try (Connection connection = db.connect();
                Statement statement = connection.createStatement()) {
            statement.execute(postgres ? "SELECT pg_terminate_backend(" + session + ")" : "KILL " + session);
        }
        String alive = postgres
                ? "SELECT count(*) FROM pg_stat_activity WHERE pid = "
                : "SELECT count(*) FROM information_schema.processlist WHERE id = ";
        await().atMost(Duration.ofSeconds(60))
                .pollInterval(Duration.ofMillis(5))
                .until(() -> db.number(alive + session) == 0);
    }
}
