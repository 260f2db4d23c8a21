package dev.holdfast.benchmarks.candidate;

import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;

/**
 * The lock that a database session can hold: pg_advisory_lock and GET_LOCK. It takes a connection for each waiting or holding
 * thread, has no lease and no fencing token.
 */
final class SessionLock implements Candidate {
    private final String name;
    private final String acquire;
    private final String release;

    private SessionLock(String name, String acquire, String release) {
        this.name = name;
        this.acquire = acquire;
        this.release = release;
    }

    static SessionLock postgresql() {
        return new SessionLock(
                "ref-advisory", "SELECT pg_advisory_lock(hashtext(?))", "SELECT pg_advisory_unlock(hashtext(?))");
    }

    static SessionLock mariaDb() {
        return new SessionLock("ref-get-lock", "SELECT GET_LOCK(?, 600)", "SELECT RELEASE_LOCK(?)");
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public Role role() {
        return Role.REFERENCE;
    }

    /** What {@code holdfast-session} is compared with. */
    @Override
    public boolean forHandingOn() {
        return true;
    }

    @Override
    public Session open(String address) {
        HikariDataSource pool = Pools.open(address);
        return new Session() {
            @Override
            public NamedLock lock(String lockName) throws SQLException {
                return new Held(pool.getConnection(), lockName, acquire, release);
            }

            @Override
            public void close() {
                pool.close();
            }
        };
    }

    private static final class Held implements NamedLock {
        private final Connection connection;
        private final String name;
        private final String acquire;
        private final String release;

        Held(Connection connection, String name, String acquire, String release) {
            this.connection = connection;
            this.name = name;
            this.acquire = acquire;
            this.release = release;
        }

        @Override
        public void lock() throws SQLException {
            run(acquire);
        }

        @Override
        public void unlock() throws SQLException {
            run(release);
        }

        @Override
        public void close() throws SQLException {
            connection.close();
        }

        private void run(String sql) throws SQLException {
            try (PreparedStatement statement = connection.prepareStatement(sql)) {
                statement.setString(1, name);
                statement.executeQuery().next();
            }
        }
    }
}
