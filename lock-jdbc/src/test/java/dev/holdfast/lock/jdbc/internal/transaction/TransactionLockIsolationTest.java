package dev.holdfast.lock.jdbc.internal.transaction;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.jdbc.JdbcLocks;
import dev.holdfast.lock.jdbc.SharedDb;
import dev.holdfast.lock.jdbc.internal.dialect.Db;
import dev.holdfast.lock.jdbc.internal.dialect.InnoDbDialect;
import dev.holdfast.lock.jdbc.internal.dialect.Product;
import dev.holdfast.lock.jdbc.internal.dialect.Schema;
import dev.holdfast.lock.spi.LockName;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Whoever has the lock of a transaction reads what was written under it before; if that cannot be, the lock is refused. */
final class TransactionLockIsolationTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    /** The tests change nothing else in them, one after the other. */
    private static final Map<Db, String> TABLES = new HashMap<>();

    private final String name = "account/" + UUID.randomUUID();

    private enum Isolation {
        READ_COMMITTED(Connection.TRANSACTION_READ_COMMITTED),
        REPEATABLE_READ(Connection.TRANSACTION_REPEATABLE_READ),
        SERIALIZABLE(Connection.TRANSACTION_SERIALIZABLE);

        final int level;

        Isolation(int level) {
            this.level = level;
        }
    }

    static List<Arguments> all() {
        List<Arguments> all = new ArrayList<>();
        for (SharedDb shared : SharedDb.values()) {
            for (Isolation isolation : Isolation.values()) {
                for (boolean known : new boolean[] {true, false}) {
                    if (shared == SharedDb.H2 && isolation == Isolation.REPEATABLE_READ) {
                        continue; // refused, see below
                    }
                    all.add(Arguments.of(shared, isolation, known));
                }
            }
        }
        return all;
    }

    /** An account of 100, and an unrelated row to read. */
    private static String account(Db db) throws Exception {
        String table = TABLES.get(db);
        if (table == null) {
            table = SharedDb.newTable();
            List<String> statements = new ArrayList<>(Schema.statements("transaction", db.dialect));
            statements.add("CREATE TABLE " + table + " (id INT PRIMARY KEY, balance INT)");
            statements.add("CREATE TABLE " + table + "_x (id INT)");
            statements.add("INSERT INTO " + table + " VALUES (1, 100)");
            statements.add("INSERT INTO " + table + "_x VALUES (1)");
            db.execute(statements.toArray(String[]::new));
            TABLES.put(db, table);
        } else {
            db.execute("UPDATE " + table + " SET balance = 100");
        }
        return table;
    }

    private static Connection transaction(Db db, Isolation isolation) throws SQLException {
        Connection connection = db.connect();
        connection.setTransactionIsolation(isolation.level);
        connection.setAutoCommit(false);
        return connection;
    }

    @FunctionalInterface
    private interface Steps {
        void run(Connection first, Connection second) throws Exception;
    }

    /** Runs steps of two transactions on a name that has been used before, or not. */
    private void inTwoTransactions(Db db, Isolation isolation, boolean known, Steps steps) throws Exception {
        try (Connection first = transaction(db, isolation);
                Connection second = transaction(db, isolation)) {
            if (known) {
                JdbcLocks.lockInTransaction(first, name, PATIENCE);
                first.commit();
            }
            steps.run(first, second);
        }
    }

    private static int number(Connection connection, String query) throws SQLException {
        try (Statement statement = connection.createStatement();
                var rows = statement.executeQuery(query)) {
            rows.next();
            return rows.getInt(1);
        }
    }

    /** What is read at SERIALIZABLE is locked on InnoDB, so that it has to be something else. */
    private static void readBefore(Connection connection, Db db, Isolation isolation, String table)
            throws SQLException {
        boolean locks = Product.isInnoDb(db.dialect) && isolation == Isolation.SERIALIZABLE;
        number(connection, "SELECT count(*) FROM " + table + (locks ? "_x" : ""));
    }

    private static void withdrawTen(Connection connection, String table) throws SQLException {
        int balance = number(connection, "SELECT balance FROM " + table + " WHERE id = 1");
        try (Statement statement = connection.createStatement()) {
            statement.executeUpdate("UPDATE " + table + " SET balance = " + (balance - 10) + " WHERE id = 1");
        }
        connection.commit();
    }

    private static boolean refuses(Db db, Isolation isolation) {
        return switch (Product.of(db.dialect)) {
            case POSTGRESQL, H2 -> isolation != Isolation.READ_COMMITTED;
            case MARIADB, MYSQL ->
                isolation == Isolation.REPEATABLE_READ; // reads at SERIALIZABLE lock, and so are of now
        };
    }

    @ParameterizedTest
    @MethodSource("all")
    void lock_afterAReadThatIsOlderThanItsLastUse_losesNoUpdate(SharedDb shared, Isolation isolation, boolean known)
            throws Exception {
        Db db = shared.db();
        String table = account(db);
        inTwoTransactions(db, isolation, known, (first, second) -> {
            readBefore(second, db, isolation, table);
            JdbcLocks.lockInTransaction(first, name, PATIENCE);
            withdrawTen(first, table);

            if (refuses(db, isolation)) {
                assertThatThrownBy(() -> JdbcLocks.lockInTransaction(second, name, PATIENCE))
                        .isInstanceOf(LockUnavailableException.class)
                        .hasMessageContaining("lock '" + name + "'")
                        .hasMessageContaining("lock before its first read, or at READ COMMITTED");
                second.rollback();
            }
            JdbcLocks.lockInTransaction(second, name, PATIENCE);
            withdrawTen(second, table);
            assertThat(number(second, "SELECT balance FROM " + table)).isEqualTo(80);
        });
    }

    @ParameterizedTest
    @MethodSource("all")
    void lock_afterAReadThatIsYoungerThanItsLastUse_works(SharedDb shared, Isolation isolation, boolean known)
            throws Exception {
        Db db = shared.db();
        String table = account(db);
        inTwoTransactions(db, isolation, known, (first, second) -> {
            readBefore(second, db, isolation, table);
            JdbcLocks.lockInTransaction(second, name, PATIENCE);
            JdbcLocks.lockInTransaction(second, name, PATIENCE); // re-entrant
            withdrawTen(second, table);
            assertThat(number(second, "SELECT balance FROM " + table)).isEqualTo(90);
        });
    }

    @ParameterizedTest
    @MethodSource("all")
    void lock_firstOfItsTransaction_afterAWait_losesNoUpdate(SharedDb shared, Isolation isolation, boolean known)
            throws Exception {
        Db db = shared.db();
        String table = account(db);
        boolean refuses = !Product.isInnoDb(db.dialect) && refuses(db, isolation);
        inTwoTransactions(db, isolation, known, (first, second) -> {
            JdbcLocks.lockInTransaction(first, name, PATIENCE);
            CompletableFuture<Long> waiting =
                    CompletableFuture.supplyAsync(() -> JdbcLocks.lockInTransaction(second, name, PATIENCE));
            await().atMost(PATIENCE).until(() -> waiters(db) > 0);
            withdrawTen(first, table);

            if (refuses) {
                assertThatThrownBy(waiting::join)
                        .isInstanceOf(CompletionException.class)
                        .hasCauseInstanceOf(LockUnavailableException.class)
                        .hasMessageContaining("READ COMMITTED");
                second.rollback();
                JdbcLocks.lockInTransaction(second, name, PATIENCE);
            } else {
                assertThat(waiting.get(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isPositive();
            }
            withdrawTen(second, table);
            assertThat(number(second, "SELECT balance FROM " + table)).isEqualTo(80);
        });
    }

    private static long waiters(Db db) throws SQLException {
        return switch (Product.of(db.dialect)) {
            case POSTGRESQL -> db.number("SELECT count(*) FROM pg_locks WHERE NOT granted");
            case MARIADB, MYSQL ->
                db.number("SELECT count(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'");
            case H2 ->
                db.number("SELECT count(*) FROM information_schema.sessions WHERE executing_statement LIKE"
                        + " '%holdfast_transaction%' AND session_id <> SESSION_ID()");
        };
    }

    /** Of MySQL, and of MariaDB before it had a setting for it; both read alike. */
    @ParameterizedTest
    @CsvSource({"REPEATABLE_READ, true", "REPEATABLE_READ, false", "READ_COMMITTED, true", "SERIALIZABLE, true"})
    void comparing_onInnoDb_seesOldSnapshots(Isolation isolation, boolean known) throws Exception {
        Db db = SharedDb.MARIADB.db();
        String table = account(db);
        byte[] bytes = LockName.utf8(name);
        inTwoTransactions(db, isolation, known, (first, second) -> {
            number(second, "SELECT count(*) FROM " + table + "_x");
            long before = InnoDbDialect.lockAndCompare(first, "", bytes);
            withdrawTen(first, table);
            if (refuses(db, isolation)) {
                assertThatThrownBy(() -> InnoDbDialect.lockAndCompare(second, "", bytes))
                        .isInstanceOf(SQLException.class)
                        .hasMessageContaining("since");
                second.rollback();
            }
            assertThat(InnoDbDialect.lockAndCompare(second, "", bytes)).isGreaterThan(before);
            withdrawTen(second, table);
            assertThat(number(second, "SELECT balance FROM " + table)).isEqualTo(80);
        });
    }

    @Test
    void comparing_twoNewNames_doNotWaitForEachOther() throws Exception {
        Db db = SharedDb.MARIADB.db();
        account(db);
        String patient = "SET STATEMENT innodb_lock_wait_timeout = 1 FOR ";
        try (Connection first = transaction(db, Isolation.REPEATABLE_READ);
                Connection second = transaction(db, Isolation.REPEATABLE_READ)) {
            InnoDbDialect.lockAndCompare(first, patient, LockName.utf8(name + "/2"));
            assertThat(InnoDbDialect.lockAndCompare(second, patient, LockName.utf8(name + "/1")))
                    .isPositive();
            assertThat(InnoDbDialect.lockAndCompare(second, patient, LockName.utf8(name + "/3")))
                    .isPositive();
            second.rollback();
            first.rollback();
        }
    }

    /** The lock is free, and but the earlier read is still older than its last use. */
    @Test
    void lock_onH2AtRepeatableRead_refused() throws Exception {
        Db db = SharedDb.H2.db();
        account(db);
        try (Connection connection = transaction(db, Isolation.REPEATABLE_READ)) {
            assertThatThrownBy(() -> JdbcLocks.lockInTransaction(connection, name, PATIENCE))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("lock '" + name + "'")
                    .hasMessageContaining("use READ COMMITTED or SERIALIZABLE");
        }
    }
}
