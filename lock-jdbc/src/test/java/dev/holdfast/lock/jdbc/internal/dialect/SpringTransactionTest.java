package dev.holdfast.lock.jdbc.internal.dialect;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.tryAcquire;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.jdbc.JdbcInternals;
import dev.holdfast.lock.jdbc.JdbcLocks;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.LockBackend;
import java.sql.Connection;
import java.time.Duration;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.jdbc.datasource.DataSourceUtils;
import org.springframework.jdbc.datasource.TransactionAwareDataSourceProxy;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Isolation;
import org.springframework.transaction.annotation.Transactional;

/** The example in docs/jdbc.md, and what keeps leases out of the caller's transaction. */
final class SpringTransactionTest {

    /** A service whose method holds the lock for the length of its transaction. */
    public static class Accounts {
        private final DataSource dataSource;
        private final JdbcTemplate jdbc;

        Accounts(DataSource dataSource) {
            this.dataSource = dataSource;
            this.jdbc = new JdbcTemplate(dataSource);
        }

        /** Released by the commit, or by the rollback if this throws. */
        @Transactional(isolation = Isolation.READ_COMMITTED)
        public void withdraw(long account, long amount) {
            Connection connection = DataSourceUtils.getConnection(dataSource);
            // First the lock, then the reads that it guards.
            long token = JdbcLocks.lockInTransaction(connection, "account/" + account, Duration.ofSeconds(2));
            Long balance = jdbc.queryForObject("SELECT balance FROM account WHERE id = ?", Long.class, account);
            if (balance == null || balance < amount) {
                throw new IllegalStateException("account " + account + " has not enough");
            }
            jdbc.update(
                    "UPDATE account SET balance = ?, lock_token = ? WHERE id = ?", balance - amount, token, account);
        }

        /** A lease taken in a transaction is not part of it. */
        @Transactional
        public void leaseAndFail(LockBackend backend) {
            jdbc.update("UPDATE account SET balance = 0");
            assertThat(tryAcquire(backend, "leased")).isInstanceOf(AcquireResult.Granted.class);
            throw new IllegalStateException("roll back");
        }
    }

    @Configuration
    @EnableTransactionManagement(proxyTargetClass = true)
    static class Settings {}

    @Test
    void lockInTransaction_underTransactional_isReleasedWithIt() throws Exception {
        try (Db db = Db.h2Memory();
                HikariDataSource pool = db.pool(config -> {});
                AnnotationConfigApplicationContext context = context(pool)) {
            db.execute(Schema.statements("transaction", DatabaseDialects.H2).toArray(String[]::new));
            db.execute(
                    "CREATE TABLE account (id BIGINT PRIMARY KEY, balance BIGINT, lock_token BIGINT)",
                    "INSERT INTO account VALUES (1, 100, 0)");
            Accounts accounts = context.getBean(Accounts.class);

            accounts.withdraw(1, 60);
            assertThatThrownBy(() -> accounts.withdraw(1, 60)).hasMessageContaining("not enough");
            accounts.withdraw(1, 40);

            assertThat(db.number("SELECT balance FROM account")).isZero();
            assertThat(db.number("SELECT lock_token FROM account")).isEqualTo(2);
        }
    }

    @Test
    void lease_takenInATransaction_staysWhenItRollsBack() throws Exception {
        try (Db db = Db.h2Memory();
                HikariDataSource pool = db.pool(config -> {});
                AnnotationConfigApplicationContext context = context(pool)) {
            db.execute(
                    "CREATE TABLE account (id BIGINT PRIMARY KEY, balance BIGINT, lock_token BIGINT)",
                    "INSERT INTO account VALUES (1, 100, 0)");
            // Hands out the connection of the calling thread's transaction.
            LockBackend backend = JdbcInternals.backend(
                    JdbcLocks.builder(new TransactionAwareDataSourceProxy(pool)).createTable(true),
                    LockClientOptions.defaults());
            Accounts accounts = context.getBean(Accounts.class);

            assertThatThrownBy(() -> accounts.leaseAndFail(backend)).hasMessage("roll back");

            assertThat(db.number("SELECT balance FROM account"))
                    .as("rolled back")
                    .isEqualTo(100);
            assertThat(tryAcquire(backend, "leased")).as("still held").isInstanceOf(AcquireResult.Busy.class);
            backend.close();
        }
    }

    private static AnnotationConfigApplicationContext context(DataSource dataSource) {
        AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext();
        context.register(Settings.class);
        context.registerBean(Accounts.class, () -> new Accounts(dataSource));
        context.registerBean(PlatformTransactionManager.class, () -> new DataSourceTransactionManager(dataSource));
        context.refresh();
        return context;
    }
}
