package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.server.PgBouncerServer;
import dev.holdfast.lock.testkit.server.PostgresServer;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.postgresql.PGConnection;

/** Behind PgBouncer, which lends each transaction a connection that others use as well; the drivers have their defaults. */
@House("middlebox:PgBouncer")
final class PgBouncerTest {
    private static PostgresServer postgres;
    private static PgBouncerServer bouncer;

    @BeforeAll
    static void start() throws Exception {
        postgres = PostgresServer.start();
        bouncer = PgBouncerServer.start(postgres, "transaction", 1);
    }

    @AfterAll
    static void stop() {
        bouncer.close();
        postgres.close();
    }

    private static HikariDataSource pool() {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(bouncer.url());
        config.setUsername(PostgresServer.USER);
        config.setPassword(PostgresServer.PASSWORD);
        config.setMaximumPoolSize(4);
        config.setMinimumIdle(0);
        return new HikariDataSource(config);
    }

    private static LockClient client(HikariDataSource pool, JdbcStrategy strategy) {
        return JdbcLocks.builder(pool, pool::close)
                .strategy(strategy)
                .createTable(true)
                .notifications(false)
                .options(LockClientOptions.builder()
                        .lockOptions(LockOptions.builder()
                                .lease(Duration.ofSeconds(6))
                                .build())
                        .build())
                .build();
    }

    /** All names of statements that stand on the server's connection, which everybody shares. */
    private static List<String> namedStatements() throws Exception {
        List<String> named = new ArrayList<>();
        try (HikariDataSource pool = pool();
                Connection connection = pool.getConnection();
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT statement FROM pg_prepared_statements")) {
            while (rows.next()) {
                named.add(rows.getString(1));
            }
        }
        return named;
    }

    @ParameterizedTest
    @CsvSource({"VERSION", "UNIQUE_INDEX"})
    void clientsThatShareAConnection_leaveNoNamesOnIt_andExcludeEachOther(JdbcStrategy strategy) throws Exception {
        AtomicInteger inside = new AtomicInteger();
        try (LockClient one = client(pool(), strategy);
                LockClient other = client(pool(), strategy);
                Lease held = one.lock("held").acquire()) {
            ExecutorService threads = Executors.newFixedThreadPool(4);
            List<Future<Integer>> overlaps = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                LockClient client = i % 2 == 0 ? one : other;
                overlaps.add(threads.submit(() -> {
                    int two = 0;
                    for (int n = 0; n < 15; n++) {
                        try (Lease lease = client.lock("busy").acquire(Duration.ofSeconds(20))) {
                            two += inside.incrementAndGet() - 1;
                            inside.decrementAndGet();
                            assertThat(lease.isValid()).isTrue();
                        }
                        assertThat(other.lock("held").tryAcquire()).isEmpty();
                    }
                    return two;
                }));
            }
            for (Future<Integer> each : overlaps) {
                assertThat(each.get(60, TimeUnit.SECONDS)).isZero();
            }
            threads.shutdown();
            awaitRenewal(held);
            assertThat(held.isValid()).isTrue();
        }
        assertThat(namedStatements()).noneMatch(sql -> sql.contains("holdfast"));
    }

    private static void awaitRenewal(Lease held) throws InterruptedException {
        Duration before = held.remaining();
        for (Duration now = before; now.compareTo(before) <= 0 && held.isValid(); now = held.remaining()) {
            before = now;
            Thread.sleep(10);
        }
    }

    @Test
    void sessionLocks_areRefused() {
        HikariDataSource pool = pool();
        assertThatThrownBy(() -> client(pool, JdbcStrategy.SESSION))
                .isInstanceOf(LockConfigurationException.class)
                .hasMessageContaining("a proxy such as PgBouncer")
                .hasMessageContaining("connect to the server directly");
        pool.close();
    }

    @Test
    void lockInTransaction_leavesNoNamesOnTheSharedConnection() throws Exception {
        try (HikariDataSource pool = pool()) {
            JdbcLocks.createTransactionTable(pool, Duration.ofSeconds(20));
            try (Connection connection = pool.getConnection()) {
                connection.setAutoCommit(false);
                for (int i = 0; i < 12; i++) {
                    JdbcLocks.lockInTransaction(connection, "a", Duration.ofSeconds(1));
                    connection.rollback();
                }
            }
        }
        assertThat(namedStatements()).noneMatch(sql -> sql.contains("holdfast"));
    }

    /** Where nothing is in between, statements keep their names, which spares the server to parse them again. */
    @Test
    void connections_goBackAsTheyCame_andDirectOnesKeepNames() throws Exception {
        try (HikariDataSource pool = pool();
                LockClient client = client(pool, JdbcStrategy.VERSION)) {
            client.lock("a").acquire().close();
            try (Connection connection = pool.getConnection()) {
                assertThat(connection.unwrap(PGConnection.class).getPrepareThreshold())
                        .isEqualTo(5);
            }
        }
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(postgres.url());
        config.setUsername(PostgresServer.USER);
        config.setPassword(PostgresServer.PASSWORD);
        config.setMaximumPoolSize(1);
        try (HikariDataSource pool = new HikariDataSource(config);
                LockClient client = client(pool, JdbcStrategy.VERSION)) {
            for (int i = 0; i < 10; i++) {
                client.lock("a").acquire().close();
            }
            try (Connection connection = pool.getConnection();
                    Statement statement = connection.createStatement();
                    ResultSet rows = statement.executeQuery("SELECT count(*) FROM pg_prepared_statements")) {
                rows.next();
                assertThat(rows.getInt(1)).isPositive();
            }
        }
    }
}
