package dev.holdfast.lock.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.jdbc.JdbcLocks;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceInitializationAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.jdbc.datasource.DelegatingDataSource;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

/** The creation of the table of locks: by which user, and when. */
class DatabaseTest {
    private static final String OWN_SCRIPT =
            "spring.sql.init.schema-locations=classpath:dev/holdfast/lock/jdbc/version-h2.sql";

    @TempDir
    Path folder;

    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(
                    HoldfastAutoConfiguration.class,
                    DataSourceAutoConfiguration.class,
                    DataSourceInitializationAutoConfiguration.class))
            .withPropertyValues("holdfast.request-timeout=20s"); // loading takes seconds on a busy machine

    @Test
    void client_waitsForTheApplicationsMigrations() {
        runner.withPropertyValues("holdfast.jdbc.initialize-schema=never", OWN_SCRIPT)
                .run(context -> assertThat(
                                context.getBean(LockClient.class).lock("a").tryLock())
                        .isTrue());
    }

    @Test
    void clientOfAJdbcUri_waitsForTheApplicationsMigrations() {
        runner.withPropertyValues(
                        "spring.datasource.url=jdbc:h2:mem:by-uri;DB_CLOSE_DELAY=-1",
                        "holdfast.uri=jdbc:h2:mem:by-uri;USER=sa",
                        OWN_SCRIPT)
                .run(context -> assertThat(
                                context.getBean(LockClient.class).lock("a").tryLock())
                        .isTrue());
    }

    @Test
    void never_createsNothing_andSaysTheStatement() {
        runner.withPropertyValues("holdfast.jdbc.initialize-schema=never")
                .run(context -> assertThat(
                                FailureAnalyses.of(context.getStartupFailure()).getDescription())
                        .startsWith("The lock store refuses the application: lock table 'holdfast_lock' is missing")
                        .contains("CREATE TABLE IF NOT EXISTS holdfast_lock"));
    }

    @Test
    void embedded_isTheDefault_andCreatesNothingOnAFile() {
        String file = "spring.datasource.url=jdbc:h2:file:" + folder.resolve("shop");
        runner.withPropertyValues(file)
                .run(context -> assertThat(
                                FailureAnalyses.of(context.getStartupFailure()).getDescription())
                        .contains("'holdfast_lock' is missing"));
        runner.withPropertyValues(file, "holdfast.jdbc.initialize-schema=always", "holdfast.jdbc.table=locks")
                .run(context -> assertThat(
                                context.getBean(LockClient.class).lock("a").tryLock())
                        .isTrue());
        runner.withPropertyValues(file, "holdfast.jdbc.initialize-schema=never", "holdfast.jdbc.table=locks")
                .run(context ->
                        assertThat(context).as("the table is still there").hasNotFailed());
    }

    @Test
    void tableOfLocksInTransactions_isCreatedLikeThatOfTheClient() {
        runner.withPropertyValues("spring.datasource.url=jdbc:h2:mem:transactions")
                .run(context -> assertThat(tokenInTransaction(context.getBean(DataSource.class)))
                        .isEqualTo(1));
        runner.withPropertyValues(
                        "spring.datasource.url=jdbc:h2:mem:no-transactions",
                        "holdfast.jdbc.initialize-schema=never",
                        OWN_SCRIPT)
                .run(context -> assertThatThrownBy(() -> tokenInTransaction(context.getBean(DataSource.class)))
                        .hasMessageContaining("'holdfast_transaction' is missing"));
    }

    private static long tokenInTransaction(DataSource dataSource) throws SQLException {
        try (Connection connection = dataSource.getConnection()) {
            connection.setAutoCommit(false);
            return JdbcLocks.lockInTransaction(connection, "a", Duration.ZERO);
        }
    }

    /** As a pool's that has to load its driver on a busy machine; a second start shows that the rest is fast enough. */
    @Test
    void firstConnection_mayTakeFiveTimesAsLongAsARequest() {
        AtomicInteger connections = new AtomicInteger();
        ApplicationContextRunner slow = new ApplicationContextRunner()
                .withConfiguration(AutoConfigurations.of(HoldfastAutoConfiguration.class))
                .withBean(DataSource.class, () -> new SlowDataSource(connections))
                .withPropertyValues("holdfast.jdbc.initialize-schema=always");
        connections.set(1);
        slow.withPropertyValues("holdfast.request-timeout=20s")
                .run(context -> assertThat(context).hasNotFailed());
        connections.set(0);
        slow.withPropertyValues("holdfast.request-timeout=1500ms")
                .run(context -> assertThat(context).hasNotFailed());
    }

    /** The first connection takes two seconds. */
    private static final class SlowDataSource extends DelegatingDataSource {
        private final AtomicInteger connections;

        SlowDataSource(AtomicInteger connections) {
            super(new DriverManagerDataSource("jdbc:h2:mem:slow-first;DB_CLOSE_DELAY=-1"));
            this.connections = connections;
        }

        @Override
        public Connection getConnection() throws SQLException {
            if (connections.getAndIncrement() == 0) {
                LockSupport.parkNanos(TimeUnit.SECONDS.toNanos(2));
            }
            return super.getConnection();
        }
    }

    @Test
    void strategyAndTable_reachTheClient() {
        runner.withPropertyValues("holdfast.jdbc.strategy=row-lock")
                .run(context -> assertThat(
                                FailureAnalyses.of(context.getStartupFailure()).getDescription())
                        .contains("strategy ROW_LOCK is not for H2"));
        runner.withPropertyValues("holdfast.jdbc.table=no-such-name")
                .run(context -> assertThat(
                                FailureAnalyses.of(context.getStartupFailure()).getDescription())
                        .startsWith("The value of holdfast.jdbc.table is not acceptable: "));
    }
}
