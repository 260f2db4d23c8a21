package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The spare connections, made while the application has taken all of its own. */
final class ConnectionsTest {
    @Test
    void passwordRotatedWhileASpareOneIsInUse_nextSpareOneLogsInWithTheNewOne() throws Exception {
        Db db = SharedDb.POSTGRESQL.db();
        db.execute("CREATE USER rotating PASSWORD 'first'");
        try (HikariDataSource pool = db.pool(config -> {
                    config.setUsername("rotating");
                    config.setPassword("first");
                    config.setMaximumPoolSize(1);
                });
                Connections connections = Connections.shared(pool, 5_000);
                Connection all = pool.getConnection();
                Connection spare = connections.get()) {
            assertThat(spare.isValid(5)).isTrue();

            db.execute("ALTER USER rotating PASSWORD 'second'");
            pool.setPassword("second");

            try (Connection next = connections.get()) {
                assertThat(next.isValid(5)).isTrue();
            }
            assertThat(all.isValid(5)).isTrue();
        }
    }

    /** Attempts that hang have all of our own pool: renewals and releases have one more. */
    @Test
    void ownPoolIsUsedUp_spareOneForHolds() throws Exception {
        try (HikariDataSource pool = SharedDb.POSTGRESQL.db().pool(config -> config.setMaximumPoolSize(1));
                Connections connections = Connections.own(pool, 5_000);
                Connection hangs = connections.get();
                Connection forHold = connections.getForHold()) {
            assertThat(hangs.isValid(5)).isTrue();
            assertThat(forHold.isValid(5)).isTrue();
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void keepsDeadline_unlessThePoolMayBeSuspended(boolean suspension) throws Exception {
        try (HikariDataSource pool = SharedDb.POSTGRESQL.db().pool(config -> {
                    config.setAllowPoolSuspension(suspension);
                    config.setConnectionTimeout(1_000);
                    config.setValidationTimeout(1_000);
                });
                Connections connections = Connections.shared(pool, 5_000)) {
            assertThat(connections.keepsDeadline(5_000)).isEqualTo(!suspension);
        }
    }

    /** What stands before the pool may let its caller wait for as long as it likes. */
    @Test
    void keepsDeadline_notOfADataSourceBeforeThePool() throws Exception {
        try (HikariDataSource pool = SharedDb.H2.db().pool(config -> {
                    config.setConnectionTimeout(1_000);
                    config.setValidationTimeout(1_000);
                });
                Connections connections = Connections.shared(before(pool), 5_000);
                Connections direct = Connections.shared(pool, 5_000)) {
            assertThat(connections.poolSize()).isEqualTo(pool.getMaximumPoolSize());
            assertThat(direct.keepsDeadline(5_000)).isTrue();

            assertThat(connections.keepsDeadline(5_000)).isFalse();
        }
    }

    private static DataSource before(DataSource pool) {
        return (DataSource) Proxy.newProxyInstance(
                DataSource.class.getClassLoader(),
                new Class<?>[] {DataSource.class},
                (proxy, method, arguments) -> method.invoke(pool, arguments));
    }

    @Test
    @Tag("virtual-threads")
    void keepsDeadline_notOnAVirtualThread() throws Exception {
        try (HikariDataSource pool = SharedDb.POSTGRESQL.db().pool(config -> {
                    config.setConnectionTimeout(1_000);
                    config.setValidationTimeout(1_000);
                });
                Connections connections = Connections.shared(pool, 5_000)) {
            assertThat(connections.keepsDeadline(5_000)).isTrue();
            CompletableFuture<Boolean> onVirtual = new CompletableFuture<>();
            Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, (Runnable)
                    () -> onVirtual.complete(connections.keepsDeadline(5_000)));
            assertThat(onVirtual.get(60, TimeUnit.SECONDS)).isFalse();
        }
    }
}
