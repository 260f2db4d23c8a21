package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.jdbc.internal.dialect.Db;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.postgresql.jdbc.PgConnection;

/** MariaDB's driver can repeat a transaction on another session, after the first one was ended. */
final class ReplacedSessionTest {
    private static HikariDataSource replaying(Db db) {
        return db.pool(config -> {
            config.setJdbcUrl(db.url().replace("mariadb://", "mariadb:sequential://"));
            config.addDataSourceProperty("transactionReplay", "true");
        });
    }

    @Test
    void sessionIsReplaced_rowLockIsLost_forGood() throws Exception {
        try (Db db = Db.mariadb("mariadb");
                HikariDataSource pool = replaying(db);
                HikariDataSource other = db.pool(config -> {})) {
            LockBackend mine = backend(pool);
            LockBackend theirs = backend(other);
            Grant held = BackendDriver.acquire(mine, "job");
            assertThat(BackendDriver.renew(mine, List.of(held)).get(0)).isInstanceOf(RenewResult.Renewed.class);
            RowLockAdministrator.kill(db, "job");
            Grant next = BackendDriver.acquire(theirs, "job");
            assertThat(next.token()).isGreaterThan(held.token());
            BackendDriver.release(theirs, next);
            assertThat(BackendDriver.renew(mine, List.of(held)).get(0))
                    .isInstanceOfSatisfying(
                            RenewResult.Lost.class,
                            lost -> assertThat(lost.reason()).isEqualTo(LossReason.SESSION_LOST));
            mine.close();
            theirs.close();
        }
    }

    /** The heartbeat is answered, but by a session that has no lock. */
    @Test
    void sessionIsReplaced_sessionLockIsLost() throws Exception {
        try (Db db = Db.mariadb("mariadb");
                HikariDataSource pool = replaying(db);
                LockBackend mine = JdbcLocks.builder(pool)
                        .strategy(JdbcStrategy.SESSION)
                        .createTable(true)
                        .backend(LockClientOptions.defaults())) {
            Grant held = BackendDriver.acquire(mine, "job");
            SessionAdministrator.kill(db, "job");
            assertThat(BackendDriver.renew(mine, List.of(held)).get(0))
                    .isInstanceOfSatisfying(
                            RenewResult.Lost.class,
                            lost -> assertThat(lost.reason()).isEqualTo(LossReason.SESSION_LOST));
        }
    }

    /** Tomcat's pool and DBCP do so with {@code removeAbandoned}; the next renewal would come ten seconds later. */
    @Test
    void connectionIsClosedByItsPool_rowLockIsLost_beforeTheNextRenewal() throws Exception {
        Db db = SharedDb.POSTGRESQL.db();
        List<Connection> out = new CopyOnWriteArrayList<>();
        try (HikariDataSource pool = db.pool(config -> config.setMaximumPoolSize(2));
                LockClient client = JdbcLocks.builder(closing(pool, out))
                        .strategy(JdbcStrategy.ROW_LOCK)
                        .createTable(true)
                        .options(LockClientOptions.builder()
                                .lockOptions(LockOptions.builder()
                                        .lease(Duration.ofSeconds(30))
                                        .build())
                                .build())
                        .build()) {
            Lease lease = client.lock("taken back").acquire();
            assertThat(lease.isValid()).isTrue();
            for (Connection each : out) {
                each.close();
            }
            await().atMost(Duration.ofSeconds(6)).until(() -> !lease.isValid());
            assertThatThrownBy(lease::close)
                    .isInstanceOf(LeaseLostException.class)
                    .hasMessageContaining("lease lost (SESSION_LOST), the connection that held its row was closed");
        }
    }

    /** Notes the driver's connections. */
    private static DataSource closing(DataSource pool, List<Connection> out) {
        return (DataSource) Proxy.newProxyInstance(
                DataSource.class.getClassLoader(), new Class<?>[] {DataSource.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("isWrapperFor")) {
                        return false;
                    }
                    Object result = method.invoke(pool, arguments);
                    if (result instanceof Connection connection) {
                        out.add(connection.unwrap(PgConnection.class));
                    }
                    return result;
                });
    }

    @Test
    void lockInTransaction_isRefused() throws Exception {
        Db db = SharedDb.MARIADB.db();
        try (HikariDataSource pool = replaying(db);
                Connection connection = pool.getConnection()) {
            JdbcLocks.createTransactionTable(pool, Duration.ofSeconds(20));
            connection.setAutoCommit(false);
            assertThatThrownBy(() -> JdbcLocks.lockInTransaction(connection, "a", Duration.ofSeconds(2)))
                    .isInstanceOf(LockConfigurationException.class)
                    .hasMessageContaining("transactionReplay=true");
            connection.rollback();
        }
    }

    private static LockBackend backend(HikariDataSource pool) {
        return JdbcLocks.builder(pool)
                .strategy(JdbcStrategy.ROW_LOCK)
                .createTable(true)
                .backend(LockClientOptions.defaults());
    }
}
