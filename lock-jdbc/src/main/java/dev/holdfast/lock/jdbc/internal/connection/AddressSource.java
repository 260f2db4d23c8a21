package dev.holdfast.lock.jdbc.internal.connection;

import java.io.PrintWriter;
import java.sql.Connection;
import java.sql.Driver;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicReference;
import java.util.logging.Logger;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * Opens connections of a driver. Only the driver receives the properties, since a pool would log them. Thread-safe.
 */
public final class AddressSource implements DataSource {
    private final Driver driver;
    private final String url;
    private final Properties properties;
    private final AtomicReference<@Nullable Connection> first = new AtomicReference<>();

    public AddressSource(Driver driver, String url, Properties properties) {
        this.driver = driver;
        this.url = url;
        this.properties = properties;
    }

    /** Opens the next connection in advance: a pool would wait for a second before it reports a failure to connect. */
    public void openFirst() throws SQLException {
        first.set(open());
    }

    @Override
    public Connection getConnection() throws SQLException {
        Connection opened = first.getAndSet(null);
        return opened == null ? open() : opened;
    }

    private Connection open() throws SQLException {
        Properties copy = new Properties();
        copy.putAll(properties);
        Connection connection = driver.connect(url, copy);
        if (connection == null) {
            throw new SQLException("the driver does not accept the URL", "08001");
        }
        return connection;
    }

    @Override
    public Connection getConnection(String user, String password) throws SQLException {
        throw new SQLFeatureNotSupportedException("the user and the password are those of the address");
    }

    @Override
    public String toString() {
        return "AddressSource";
    }

    @Override
    public PrintWriter getLogWriter() throws SQLException {
        throw new SQLFeatureNotSupportedException("no log");
    }

    @Override
    public void setLogWriter(PrintWriter out) throws SQLException {
        throw new SQLFeatureNotSupportedException("no log");
    }

    /** Does nothing: the time-outs are among the properties. */
    @Override
    public void setLoginTimeout(int seconds) {}

    @Override
    public int getLoginTimeout() {
        return 0;
    }

    @Override
    public Logger getParentLogger() throws SQLFeatureNotSupportedException {
        throw new SQLFeatureNotSupportedException("no log");
    }

    @Override
    public <T> T unwrap(Class<T> type) throws SQLException {
        throw new SQLException("not a wrapper");
    }

    @Override
    public boolean isWrapperFor(Class<?> type) {
        return false;
    }
}
