package dev.holdfast.lock.spring.boot;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.jdbc.JdbcLocks;
import dev.holdfast.lock.jdbc.JdbcStrategy;
import dev.holdfast.lock.spring.boot.HoldfastProperties.Backend;
import dev.holdfast.lock.spring.boot.HoldfastProperties.InitializeSchema;
import dev.holdfast.lock.spring.boot.HoldfastProperties.Jdbc;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.jdbc.EmbeddedDatabaseConnection;
import org.springframework.util.ClassUtils;

/**
 * Locks in the application's database, whose tables are there before the client is. To be loaded only if lock-jdbc is there.
 */
final class JdbcBackend {
    private static final Logger LOG = LoggerFactory.getLogger(JdbcBackend.class);
    /** How many request time-outs the first connection may take. */
    private static final int FIRST_CONNECTION = 5;

    private static final boolean DETECTS_EMBEDDED = ClassUtils.isPresent(
            "org.springframework.boot.jdbc.EmbeddedDatabaseConnection", JdbcBackend.class.getClassLoader());

    private JdbcBackend() {}

    static @Nullable BackendCandidate candidate(
            HoldfastProperties properties, ConfigurableListableBeanFactory beans, ObjectProvider<DatabaseReady> ready) {
        return OnlyBean.candidate(Backend.JDBC, DataSource.class, beans, (dataSource, options) -> {
            ready.getObject();
            return open(dataSource, properties.jdbc(), options, beans);
        });
    }

    private static LockClient open(
            DataSource dataSource, Jdbc properties, LockClientOptions options, ConfigurableListableBeanFactory beans) {
        fillPool(dataSource, options.requestTimeout().multipliedBy(FIRST_CONNECTION));
        JdbcLocks.Builder builder = JdbcLocks.builder(dataSource).options(options);
        OptionsOfProperties.set(
                "holdfast.jdbc.strategy",
                properties.strategy(),
                strategy -> builder.strategy(JdbcStrategy.valueOf(strategy.name())));
        OptionsOfProperties.set("holdfast.jdbc.table", properties.table(), builder::table);
        OptionsOfProperties.set("holdfast.jdbc.notifications", properties.notifications(), builder::notifications);
        boolean creates = creates(properties.initializeSchema(), dataSource);
        if (creates) {
            JdbcLocks.createTransactionTable(dataSource, options.requestTimeout());
        }
        builder.createTable(creates);
        return Customizers.apply(beans, JdbcLocks.Builder.class, builder).build();
    }

    /**
     * Waits for a pool's first connection, which loads the driver and may take longer than a request, as {@code LockClient.connect}
     * does. A failure is reported by the request that follows.
     */
    private static void fillPool(DataSource dataSource, Duration timeout) {
        FutureTask<Void> connecting = new FutureTask<>(() -> {
            dataSource.getConnection().close();
            return null;
        });
        Thread thread = new Thread(null, connecting, "holdfast-first-connection", 0, false);
        thread.setDaemon(true);
        thread.start();
        try {
            connecting.get(timeout.toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException | TimeoutException e) {
            LOG.debug("the first connection of the data source: {}", String.valueOf(e));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static boolean creates(InitializeSchema when, DataSource dataSource) {
        return when == InitializeSchema.ALWAYS
                || when == InitializeSchema.EMBEDDED
                        && DETECTS_EMBEDDED
                        && EmbeddedDatabaseConnection.isEmbedded(dataSource);
    }
}
