package dev.holdfast.examples.election;

import dev.holdfast.lock.jdbc.GuardedUpdate;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;

/**
 * What the leader writes to: one row of a database file, which refuses a token lower than the highest that it has seen. One
 * connection; not thread-safe.
 */
final class Ledger implements AutoCloseable {

    private static final GuardedUpdate WRITE =
            GuardedUpdate.of("update ledger set entries = entries + 1, token = :token where token <= :token");

    private final Connection connection;

    private Ledger(Connection connection) {
        this.connection = connection;
    }

    static Ledger open(String url) throws SQLException {
        return new Ledger(DriverManager.getConnection(url, "sa", ""));
    }

    /** Makes the row. */
    void begin() throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("create table ledger(entries int not null, token bigint not null)");
            statement.execute("insert into ledger values (0, 0)");
        }
    }

    /**
     * Writes an entry.
     *
     * @return false if it is refused, since a later leader has written
     */
    boolean write(long token) throws SQLException {
        return WRITE.execute(connection, token) == 1;
    }

    @Override
    public void close() throws SQLException {
        connection.close();
    }
}
