package dev.holdfast.lock.jdbc.internal.dialect;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.testkit.server.MariaDbServer;
import dev.holdfast.lock.testkit.server.MySqlServer;
import dev.holdfast.lock.testkit.server.PostgresServer;
import dev.holdfast.lock.testkit.server.network.FaultProxy;
import dev.holdfast.lock.testkit.server.process.ServerImage;
import dev.holdfast.lock.testkit.server.process.ServerProcess;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Comparator;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** A database for tests: where it is, how to log in, how to disturb it. */
public final class Db implements AutoCloseable {
    public final String name;
    public final String origin;
    public final DatabaseDialect dialect;
    private final String url;
    private final String user;
    private final String password;
    private final @Nullable ServerProcess process;
    private final @Nullable FaultProxy proxy;
    private final Runnable close;

    private Db(
            String name,
            @Nullable ServerImage image,
            DatabaseDialect dialect,
            String url,
            String user,
            String password,
            @Nullable ServerProcess process,
            Runnable close) {
        this.name = name;
        this.origin = image == null ? "" : ", in " + image;
        this.dialect = dialect;
        this.url = url;
        this.user = user;
        this.password = password;
        this.process = process;
        this.close = close;
        try {
            this.proxy = process == null ? null : FaultProxy.to(process);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    public static Db postgres(String... settings) throws Exception {
        return postgres(ServerImage.chosen("postgres").orElse(null), settings);
    }

    public static Db postgres(@Nullable ServerImage image, String... settings) throws Exception {
        PostgresServer server = PostgresServer.start(image, settings);
        return new Db(
                "PostgreSQL",
                image,
                DatabaseDialects.POSTGRESQL,
                server.url(),
                PostgresServer.USER,
                PostgresServer.PASSWORD,
                server.process(),
                server::close);
    }

    /** The driver is {@code mariadb} or {@code mysql}. */
    public static Db mariadb(String driver, String... settings) throws Exception {
        return mariadb(ServerImage.chosen("mariadb").orElse(null), driver, settings);
    }

    public static Db mariadb(@Nullable ServerImage image, String driver, String... settings) throws Exception {
        MariaDbServer server = MariaDbServer.start(image, settings);
        return new Db(
                "MariaDB (" + driver + " driver)",
                image,
                DatabaseDialects.MARIADB,
                server.url(driver),
                MariaDbServer.USER,
                MariaDbServer.PASSWORD,
                server.process(),
                server::close);
    }

    /** The same server by another driver; closing this does not stop it. */
    public Db byDriver(String driver) {
        return new Db(
                dialect.title() + " (" + driver + " driver)",
                null,
                dialect,
                url.replaceFirst("jdbc:[a-z]+:", "jdbc:" + driver + ":"),
                user,
                password,
                process,
                () -> {});
    }

    public static Db mysql(ServerImage image, String... settings) throws Exception {
        MySqlServer server = MySqlServer.start(image, settings);
        return new Db(
                "MySQL",
                image,
                DatabaseDialects.MYSQL,
                server.url(),
                MySqlServer.USER,
                MySqlServer.PASSWORD,
                server.process(),
                server::close);
    }

    public static Db h2Memory() throws SQLException {
        String url = "jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1";
        return new Db("H2 in memory", null, DatabaseDialects.H2, url, "sa", "canary-h2", null, () -> {});
    }

    public static Db h2File() throws IOException {
        Path folder = Files.createTempDirectory("holdfast-h2-");
        String url = "jdbc:h2:" + folder.resolve("db") + ";WRITE_DELAY=0;DB_CLOSE_DELAY=-1";
        return new Db("H2 in a file", null, DatabaseDialects.H2, url, "sa", "canary-h2", null, () -> delete(folder));
    }

    /** A file that several processes open: the first one serves the others. */
    public static Db h2Shared() throws IOException {
        Path folder = Files.createTempDirectory("holdfast-h2-");
        String url = "jdbc:h2:" + folder.resolve("db") + ";WRITE_DELAY=0;AUTO_SERVER=TRUE";
        return new Db("H2, shared file", null, DatabaseDialects.H2, url, "sa", "canary-h2", null, () -> delete(folder));
    }

    private static void delete(Path folder) {
        try (Stream<Path> files = Files.walk(folder)) {
            files.sorted(Comparator.reverseOrder())
                    .forEach(file -> file.toFile().delete());
        } catch (IOException e) {
            // It is in the temporary directory.
        }
    }

    /** The address for direct connections to the database. */
    public String url() {
        return url;
    }

    public String user() {
        return user;
    }

    public String password() {
        return password;
    }

    /** The same through the proxy, if there is one. */
    public String proxiedUrl() {
        return proxy == null ? url : urlThrough(proxy);
    }

    public String urlThrough(FaultProxy other) {
        return url.replace(":" + process().port() + "/", ":" + other.port() + "/");
    }

    public ServerProcess process() {
        if (process == null) {
            throw new IllegalStateException(name + " has no process");
        }
        return process;
    }

    public FaultProxy proxy() {
        if (proxy == null) {
            throw new IllegalStateException(name + " has no proxy");
        }
        return proxy;
    }

    public boolean isServer() {
        return process != null;
    }

    /** A pool as an application would have one, through the proxy. */
    public HikariDataSource pool(Consumer<HikariConfig> settings) {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(proxiedUrl());
        config.setUsername(user);
        config.setPassword(password);
        config.setMaximumPoolSize(6);
        config.setMinimumIdle(1);
        config.setConnectionTimeout(3_000);
        config.setKeepaliveTime(0);
        switch (Product.of(dialect)) {
            case POSTGRESQL -> {
                config.addDataSourceProperty("loginTimeout", "3");
                config.addDataSourceProperty("socketTimeout", "10");
            }
            case MARIADB, MYSQL -> {
                config.addDataSourceProperty("connectTimeout", "3000");
                config.addDataSourceProperty("socketTimeout", "10000");
            }
            case H2 -> {}
        }
        config.setInitializationFailTimeout(15_000);
        settings.accept(config);
        return new HikariDataSource(config);
    }

    /** A connection that no pool and no proxy touches. */
    public Connection connect() throws SQLException {
        return java.sql.DriverManager.getConnection(url, user, password);
    }

    public int execute(String... statements) throws SQLException {
        int count = 0;
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                count = statement.executeUpdate(sql);
            }
        }
        return count;
    }

    public long number(String query) throws SQLException {
        try (Connection connection = connect();
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(query)) {
            rows.next();
            return rows.getLong(1);
        }
    }

    @Override
    public void close() {
        if (proxy != null) {
            proxy.close();
        }
        close.run();
    }
}
