package dev.holdfast.benchmarks.server;

import dev.holdfast.lock.testkit.server.MariaDbServer;
import dev.holdfast.lock.testkit.server.PostgresServer;
import java.io.IOException;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Set;

/** A database with durable commits and the tables of all candidates. */
final class DatabaseStore implements Store {
    private final String name;
    private final String address;
    private final String count;
    private final int column;
    private final AutoCloseable server;
    private final Connection connection;

    private DatabaseStore(String name, String address, String count, int column, AutoCloseable server)
            throws SQLException {
        this.name = name;
        this.address = address;
        this.count = count;
        this.column = column;
        this.server = server;
        this.connection = DriverManager.getConnection(address);
    }

    static DatabaseStore postgresql() throws IOException, InterruptedException {
        PostgresServer server = PostgresServer.start(
                "max_connections=1000",
                "shared_preload_libraries=pg_stat_statements",
                "pg_stat_statements.track_utility=on");
        try {
            DatabaseStore store = new DatabaseStore(
                    "postgresql",
                    server.url() + "?user=" + PostgresServer.USER + "&password=" + PostgresServer.PASSWORD,
                    "SELECT coalesce(sum(calls), 0) FROM pg_stat_statements",
                    1,
                    server);
            store.execute("CREATE EXTENSION pg_stat_statements");
            store.createTables("TIMESTAMP", "");
            return store;
        } catch (SQLException e) {
            server.close();
            throw new IOException("cannot prepare PostgreSQL", e);
        }
    }

    static DatabaseStore mariaDb() throws IOException, InterruptedException {
        MariaDbServer server = MariaDbServer.start("max-connections=1000");
        try {
            DatabaseStore store = new DatabaseStore(
                    "mariadb",
                    server.url("mariadb") + "?user=" + MariaDbServer.USER + "&password=" + MariaDbServer.PASSWORD,
                    "SHOW GLOBAL STATUS LIKE 'Questions'",
                    2,
                    server);
            store.createTables("DATETIME(6)", " ENGINE=InnoDB");
            return store;
        } catch (SQLException e) {
            server.close();
            throw new IOException("cannot prepare MariaDB", e);
        }
    }

    /** Tables as the peers' documentation gives them, with the same types. */
    private void createTables(String time, String engine) throws SQLException {
        for (String table : List.of(
                "raw_lock (name VARCHAR(200) PRIMARY KEY, owner VARCHAR(64) NOT NULL)",
                "shedlock (name VARCHAR(64) NOT NULL, lock_until %1$s NOT NULL, locked_at %1$s NOT NULL,"
                        + " locked_by VARCHAR(255) NOT NULL, PRIMARY KEY (name))",
                "INT_LOCK (LOCK_KEY CHAR(36) NOT NULL, REGION VARCHAR(100) NOT NULL, CLIENT_ID CHAR(36),"
                        + " CREATED_DATE %1$s NOT NULL, EXPIRED_AFTER %1$s NOT NULL,"
                        + " CONSTRAINT INT_LOCK_PK PRIMARY KEY (LOCK_KEY, REGION))")) {
            execute("CREATE TABLE " + table.formatted(time) + engine);
        }
    }

    private void execute(String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public String version() {
        try {
            DatabaseMetaData database = connection.getMetaData();
            return database.getDatabaseProductName() + " " + database.getDatabaseProductVersion();
        } catch (SQLException e) {
            return name;
        }
    }

    @Override
    public String address() {
        return address;
    }

    @Override
    public String unit() {
        return "statements";
    }

    @Override
    public long commands(Set<String> plainCommands) throws IOException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(count)) {
            row.next();
            return row.getLong(column);
        } catch (SQLException e) {
            throw new IOException("cannot count what " + name + " was asked", e);
        }
    }

    @Override
    public void close() {
        try (AutoCloseable stopped = server) {
            connection.close();
        } catch (Exception e) {
            throw new IllegalStateException("cannot stop " + name, e);
        }
    }
}
