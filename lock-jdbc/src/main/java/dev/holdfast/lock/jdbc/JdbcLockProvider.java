package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockProvider;
import dev.holdfast.lock.jdbc.internal.connection.JdbcUri;
import dev.holdfast.lock.jdbc.internal.connection.SafeMessages;
import dev.holdfast.lock.jdbc.internal.connection.Threads;
import java.util.Set;

/**
 * Connects to {@code jdbc:} URLs, with a HikariCP pool that the client owns and closes. The database's driver must be on
 * the class or module path. MariaDB's driver alone accepts {@code jdbc:mysql:} only with the parameter
 * {@code permitMysqlScheme}.
 *
 * <p>Holdfast's own parameters, which are removed before the driver reads the URL: {@code holdfast.createTable}
 * ({@code true} to create a missing table; the default for an H2 database in this process, else {@code false}),
 * {@code holdfast.table} (default that of the strategy), {@code holdfast.strategy} (default {@code version}),
 * {@code holdfast.notifications} ({@code false} for waiters that poll on PostgreSQL) and {@code holdfast.poolSize}
 * (the maximum number of connections, default 8). They are written like the database's own:
 *
 * <pre>{@code
 * jdbc:postgresql://localhost/shop?user=shop&password=…&holdfast.createTable=true
 * jdbc:h2:./data/shop;AUTO_SERVER=TRUE;holdfast.table=locks
 * }</pre>
 */
public final class JdbcLockProvider implements LockProvider {

    /** For {@link java.util.ServiceLoader}. */
    public JdbcLockProvider() {}

    @Override
    public Set<String> schemes() {
        return Set.of("jdbc");
    }

    @Override
    public LockClient connect(String uri, LockClientOptions options) {
        JdbcUri parsed = new JdbcUri(uri);
        long deadlineNanos = System.nanoTime() + options.requestTimeout().toNanos();
        boolean first = OwnPool.isFirst(parsed);
        OwnPool pool = null;
        try {
            pool = OwnPool.open(parsed, Math.max(1, options.requestTimeout().toMillis()));
            return JdbcLocks.builder(pool.dataSource(), pool::close)
                    .deadline(
                            first ? System.nanoTime() + options.requestTimeout().toNanos() : deadlineNanos)
                    .options(options)
                    .table(parsed.table())
                    .strategy(JdbcStrategy.valueOf(parsed.strategy().name()))
                    .createTable(parsed.createTable())
                    .notifications(parsed.notifications())
                    .build();
        } catch (RuntimeException e) {
            if (pool != null) {
                Threads.start("holdfast-jdbc-close", pool::close);
            }
            throw SafeMessages.without(parsed.address(), e);
        }
    }
}
