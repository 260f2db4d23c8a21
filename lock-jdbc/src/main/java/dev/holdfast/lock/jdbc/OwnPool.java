package dev.holdfast.lock.jdbc;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.jdbc.internal.connection.AddressSource;
import dev.holdfast.lock.jdbc.internal.connection.BoundedExecutor;
import dev.holdfast.lock.jdbc.internal.connection.BrokenConnections;
import dev.holdfast.lock.jdbc.internal.connection.DriverParameters;
import dev.holdfast.lock.jdbc.internal.connection.JdbcAddress;
import dev.holdfast.lock.jdbc.internal.connection.JdbcServers;
import dev.holdfast.lock.jdbc.internal.connection.JdbcUri;
import dev.holdfast.lock.jdbc.internal.connection.Threads;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialects;
import dev.holdfast.lock.spi.support.ConnectDiagnosis;
import dev.holdfast.lock.spi.support.FailureTranslator;
import java.net.SocketTimeoutException;
import java.sql.Driver;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.Iterator;
import java.util.Properties;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * The pool behind a {@code jdbc:} URL. It keeps one idle connection open, without keep-alive requests. Logins and
 * answers are limited to the time of a request, unless the URL sets other limits.
 */
final class OwnPool implements AutoCloseable {
    private static final long MIN_MILLIS = 250;
    private static final int MAX_BROKEN_DRIVERS = 100;
    private static final long MAX_VALIDATION_MILLIS = 1_000;

    private static final int FIRST_REPEATS = 3;

    /** The schemes of databases to which this process has connected, so that their classes are loaded. */
    private static final Set<String> LOADED = ConcurrentHashMap.newKeySet();

    private final HikariDataSource dataSource;

    private OwnPool(HikariDataSource dataSource) {
        this.dataSource = dataSource;
    }

    /**
     * Opens the pool and its first connection.
     *
     * @throws LockConfigurationException if there is no driver, or the database refuses access
     * @throws dev.holdfast.lock.LockUnavailableException if the database cannot be reached in time
     */
    static OwnPool open(JdbcUri uri, long timeoutMillis) {
        return open(uri, timeoutMillis, LOADED);
    }

    static OwnPool open(JdbcUri uri, long timeoutMillis, Set<String> loaded) {
        String scheme = uri.address().driver().scheme();
        boolean isLookedAt =
                uri.embedded() || !JdbcServers.servers(uri.address()).isEmpty();
        int repeats = isLookedAt && !loaded.contains(scheme) ? FIRST_REPEATS : 0;
        long deadlineNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMillis);
        try (ConnectDiagnosis diagnosis = JdbcServers.diagnosis(uri.address(), deadlineNanos)) {
            OwnPool opened = repeated(diagnosis, repeats, () -> {
                AddressSource source = source(uri.address(), timeoutMillis);
                HikariConfig config = config(uri, source, timeoutMillis);
                return new OwnPool(inTime(timeoutMillis, () -> prepared(source::openFirst, () -> connect(config))));
            });
            loaded.add(scheme);
            return opened;
        }
    }

    /**
     * Opens a connection and lets a pool prepare it, a second time if that fails: the pool allows each step a second only, after
     * which the driver closes the connection, and a busy server may take longer for the first statement. A refusal is final.
     */
    static <T> T prepared(First first, BoundedExecutor.SqlCall<T> pool) throws SQLException {
        first.open();
        try {
            return pool.run();
        } catch (SQLException closed) {
            first.open();
            return pool.run();
        }
    }

    /** Opens the first connection. */
    @FunctionalInterface
    interface First {
        void open() throws SQLException;
    }

    /** Whether the driver and the pool are not loaded yet. Loading them takes a part of the time allowed for connecting. */
    static boolean isFirst(JdbcUri uri) {
        return !LOADED.contains(uri.address().driver().scheme());
    }

    /**
     * Repeats a driver's first attempts to connect if they fail although the server answers. Loading classes takes time, on
     * a busy machine all the time allowed.
     */
    static <T> T repeated(ConnectDiagnosis diagnosis, int repeats, BoundedExecutor.SqlCall<T> open) {
        for (int left = repeats; ; left--) {
            try {
                return open.run();
            } catch (SQLException e) {
                if (left == 0 || !isTimeout(e) || Thread.currentThread().isInterrupted() || !diagnosis.isAnswering()) {
                    throw diagnosis.explain(e);
                }
            }
        }
    }

    /** PostgreSQL's driver reports a login time-out without a cause. */
    private static boolean isTimeout(SQLException failure) {
        return failure.getCause() == null && "08001".equals(failure.getSQLState())
                || FailureTranslator.causes(failure).stream()
                        .anyMatch(
                                cause -> cause instanceof TimeoutException || cause instanceof SocketTimeoutException);
    }

    /** Returns what was opened in time. A later result is closed by the thread that opens it, or by its caller. */
    static <T extends AutoCloseable> T inTime(long timeoutMillis, BoundedExecutor.SqlCall<T> open) throws SQLException {
        ExecutorService executor = Threads.atMost(1, "holdfast-jdbc-connect-");
        CompletableFuture<T> handedOver = new CompletableFuture<>();
        try {
            return BoundedExecutor.await(executor, timeoutMillis, () -> {
                T opened = open.run();
                if (!handedOver.complete(opened)) {
                    close(opened);
                }
                return opened;
            });
        } catch (SQLException e) {
            if (!handedOver.completeExceptionally(e)) {
                close(handedOver.join());
            }
            throw e;
        } finally {
            executor.shutdown();
        }
    }

    private static void close(AutoCloseable late) throws SQLException {
        try {
            late.close();
        } catch (Exception e) {
            throw new SQLException("a connection that was opened too late could not be closed", e);
        }
    }

    private static Driver driver(JdbcAddress address, String url) {
        try {
            return DriverManager.getDriver(url);
        } catch (SQLException e) {
            Driver unregistered = unregisteredDriver(url);
            if (unregistered != null) {
                return unregistered;
            }
            throw new LockConfigurationException("no JDBC driver on the class path accepts URLs of jdbc:"
                    + address.driver().scheme()
                    + ":, or the URL is malformed; add the database's driver and check the URL"
                    + address.driver().withoutDriver());
        }
    }

    /**
     * Finds a driver that {@link DriverManager} does not have: it registers those that the context loader of its first caller in
     * this JVM sees, which are not those of a second web application.
     */
    private static @Nullable Driver unregisteredDriver(String url) {
        for (ClassLoader loader : Arrays.asList(
                OwnPool.class.getClassLoader(), Thread.currentThread().getContextClassLoader())) {
            Iterator<Driver> drivers = ServiceLoader.load(Driver.class, loader).iterator();
            for (int broken = 0; broken < MAX_BROKEN_DRIVERS; ) {
                try {
                    if (!drivers.hasNext()) {
                        break;
                    }
                    Driver driver = drivers.next();
                    if (driver.acceptsURL(url)) {
                        return driver;
                    }
                } catch (ServiceConfigurationError | LinkageError | SQLException unusable) {
                    broken++; // another driver may accept the URL
                }
            }
        }
        return null;
    }

    private static HikariDataSource connect(HikariConfig config) throws SQLException {
        try {
            return new HikariDataSource(config);
        } catch (RuntimeException e) {
            if (e.getCause() instanceof SQLException cause) {
                throw cause;
            }
            throw e;
        }
    }

    /** The source of the pool's connections. */
    static AddressSource source(JdbcAddress address, long timeoutMillis) {
        Properties properties = address.properties();
        Set<String> given = new TreeSet<>(String.CASE_INSENSITIVE_ORDER);
        given.addAll(properties.stringPropertyNames());
        boolean remote = !JdbcServers.servers(address).isEmpty();
        address.driver().properties(address.url(), remote, timeoutMillis).forEach((name, value) -> {
            if (!given.contains(name)) {
                properties.setProperty(name, value);
            }
        });
        String url = DatabaseDialects.withSwitches(address.url(), properties);
        Driver driver = driver(address, url);
        DriverParameters.require(address, driver, url);
        String socketFactory = address.driver().socketFactory(driver);
        if (socketFactory != null && !given.contains(socketFactory) && canLoad(driver)) {
            properties.setProperty(socketFactory, NotificationSocketFactory.class.getName());
        }
        return new AddressSource(driver, url, properties);
    }

    /** The driver loads the class itself. */
    private static boolean canLoad(Driver driver) {
        try {
            return Class.forName(
                            NotificationSocketFactory.class.getName(),
                            false,
                            driver.getClass().getClassLoader())
                    == NotificationSocketFactory.class;
        } catch (ClassNotFoundException | LinkageError e) {
            return false;
        }
    }

    /** The pool's settings. */
    static HikariConfig config(JdbcUri uri, AddressSource source, long timeoutMillis) {
        HikariConfig config = new HikariConfig();
        config.setDataSource(source);
        config.setJdbcUrl(uri.address().url()); // HikariCP adapts to some drivers by the URL
        config.setPoolName("holdfast");
        config.setMaximumPoolSize(uri.poolSize());
        config.setMinimumIdle(1);
        config.setKeepaliveTime(0);
        config.setExceptionOverride(new BrokenConnections());
        config.setInitializationFailTimeout(1);
        // Together they fit into the time of a request, so that a request needs no thread of its own.
        long validationMillis = Math.max(MIN_MILLIS, Math.min(MAX_VALIDATION_MILLIS, timeoutMillis / 3));
        config.setValidationTimeout(validationMillis);
        config.setConnectionTimeout(connectionTimeout(timeoutMillis));
        if (uri.embedded()) {
            // An in-memory database is dropped when its last connection closes.
            config.setMaxLifetime(0);
        } else {
            config.setTransactionIsolation("TRANSACTION_READ_COMMITTED");
        }
        return config;
    }

    private static long connectionTimeout(long timeoutMillis) {
        return timeoutMillis >= 2 * MAX_VALIDATION_MILLIS
                ? timeoutMillis - MAX_VALIDATION_MILLIS
                : Math.max(MIN_MILLIS, timeoutMillis);
    }

    HikariDataSource dataSource() {
        return dataSource;
    }

    @Override
    public void close() {
        dataSource.close();
    }
}
