package dev.holdfast.benchmarks.candidate;

import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.UUID;
import javax.sql.DataSource;

/** INSERT of a row to acquire, DELETE to release, each a statement in auto-commit on a connection of the pool. */
final class JdbcRaw implements Candidate {

    @Override
    public String name() {
        return "raw";
    }

    @Override
    public Role role() {
        return Role.FLOOR;
    }

    @Override
    public boolean waits() {
        return false;
    }

    @Override
    public boolean representative() {
        return true;
    }

    @Override
    public Session open(String address) {
        HikariDataSource pool = Pools.open(address);
        return new Session() {
            @Override
            public NamedLock lock(String name) {
                return new Row(pool, name, UUID.randomUUID().toString());
            }

            @Override
            public void close() {
                pool.close();
            }
        };
    }

    private record Row(DataSource pool, String name, String owner) implements NamedLock {
        @Override
        public void lock() throws SQLException {
            run("INSERT INTO raw_lock (name, owner) VALUES (?, ?)");
        }

        @Override
        public void unlock() throws SQLException {
            run("DELETE FROM raw_lock WHERE name = ? AND owner = ?");
        }

        private void run(String sql) throws SQLException {
            try (Connection connection = pool.getConnection();
                    PreparedStatement statement = connection.prepareStatement(sql)) {
                statement.setString(1, name);
                statement.setString(2, owner);
                if (statement.executeUpdate() != 1) {
                    throw new IllegalStateException("'" + name + "' was lost");
                }
            }
        }
    }
}
