package dev.holdfast.benchmarks.candidate;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;

/** The connection pool of an application, set as docs/jdbc.md advises: the same for all that work through a database. */
final class Pools {
    private static final int CONNECTIONS = 20;
    private static final int IDLE = 2;
    /** A call then needs no second thread. */
    private static final long TIMEOUT_MILLIS = 1_000;

    private Pools() {}

    static HikariDataSource open(String url) {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(url);
        config.setMaximumPoolSize(CONNECTIONS);
        config.setMinimumIdle(IDLE); // or the processes of all candidates together exceed what a server takes
        config.setConnectionTimeout(TIMEOUT_MILLIS);
        config.setValidationTimeout(TIMEOUT_MILLIS);
        if (url.startsWith("jdbc:postgresql:")) {
            config.addDataSourceProperty("socketFactory", "dev.holdfast.lock.jdbc.NotificationSocketFactory");
        }
        if (url.startsWith("jdbc:mariadb:")) {
            config.addDataSourceProperty("useServerPrepStmts", "true");
        }
        return new HikariDataSource(config);
    }
}
