package dev.holdfast.lock.jdbc.internal.transaction;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockTimeoutException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.jdbc.internal.connection.RecordedDb;
import dev.holdfast.lock.jdbc.internal.connection.RecordedDb.Answer;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialect;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialects;
import dev.holdfast.lock.jdbc.internal.dialect.InnoDbDialect;
import dev.holdfast.lock.jdbc.internal.dialect.Product;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** What each database is asked for a lock in a transaction, in which order, and what its refusals are called. */
final class TransactionLockAnswersTest {
    private static final String NAME = "account/7";
    private static final Map<String, Boolean> CHECKED = Map.of("null", false);
    private static final String LOCK = "INSERT INTO holdfast_transaction";

    private static Connection transaction(RecordedDb db) throws SQLException {
        db.autoCommit = false;
        db.isolation = Connection.TRANSACTION_READ_COMMITTED;
        Connection connection = db.connection();
        db.forget();
        return connection;
    }

    private static long lock(RecordedDb db, Duration wait) throws SQLException {
        return TransactionLock.lock(transaction(db), NAME, wait, CHECKED);
    }

    private static List<String> statements(RecordedDb db) {
        return db.calls().stream().map(RecordedDb.Call::sql).toList();
    }

    static Stream<Arguments> failures() {
        return Stream.of(
                Arguments.of(
                        DatabaseDialects.POSTGRESQL,
                        new SQLException("canceling statement due to lock timeout", "55P03"),
                        LockTimeoutException.class,
                        "another transaction has held it for the whole wait of PT2S; roll this transaction back, or wait longer"),
                Arguments.of(
                        DatabaseDialects.MYSQL,
                        new SQLException("Lock wait timeout exceeded", "40001", 1205),
                        LockTimeoutException.class,
                        "another transaction has held it for the whole wait of PT2S; roll this transaction back, or wait longer"),
                Arguments.of(
                        DatabaseDialects.H2,
                        new SQLException("Timeout trying to lock table", "HYT00", 50200),
                        LockTimeoutException.class,
                        "another transaction has held it for the whole wait of PT2S; roll this transaction back, or wait longer"),
                Arguments.of(
                        DatabaseDialects.POSTGRESQL,
                        new SQLException("deadlock detected", "40P01"),
                        LockUnavailableException.class,
                        "PostgreSQL has chosen this transaction to be tried again (deadlock detected); roll it back and repeat it"),
                Arguments.of(
                        DatabaseDialects.MARIADB,
                        new SQLException("Deadlock found", "40001", 1213),
                        LockUnavailableException.class,
                        "MariaDB has chosen this transaction to be tried again (Deadlock found); roll it back and repeat it"),
                Arguments.of(
                        DatabaseDialects.POSTGRESQL,
                        new SQLException("could not serialize access", "40001"),
                        LockUnavailableException.class,
                        "this transaction reads as of a time before it has the lock, and would not see what others have written"
                                + " under the lock since (PostgreSQL: could not serialize access); roll it back and repeat it"
                                + " with the lock before its first read, or at READ COMMITTED"),
                Arguments.of(
                        DatabaseDialects.MARIADB,
                        new SQLException("Record has changed since last read", "HY000", 1020),
                        LockUnavailableException.class,
                        "this transaction reads as of a time before it has the lock, and would not see what others have written"
                                + " under the lock since (MariaDB: Record has changed since last read); roll it back and repeat"
                                + " it with the lock before its first read, or at READ COMMITTED"),
                Arguments.of(
                        DatabaseDialects.MYSQL,
                        new SQLException("Table 'x' doesn't exist", "42S02", 1146),
                        LockConfigurationException.class,
                        "table 'holdfast_transaction' is missing on MySQL; run: CREATE TABLE IF NOT EXISTS"
                                + " holdfast_transaction"),
                Arguments.of(
                        DatabaseDialects.POSTGRESQL,
                        new SQLException("permission denied", "42501"),
                        LockConfigurationException.class,
                        "PostgreSQL denies access to table 'holdfast_transaction' (permission denied); run: GRANT SELECT,"
                                + " INSERT, UPDATE ON holdfast_transaction TO <the user>"),
                Arguments.of(
                        DatabaseDialects.POSTGRESQL,
                        new SQLException("An I/O error occurred", "08006"),
                        LockUnavailableException.class,
                        "no usable answer from PostgreSQL (An I/O error occurred), the outcome is unknown"));
    }

    @ParameterizedTest
    @MethodSource("failures")
    void refusal_isCalledWhatItIs(DatabaseDialect dialect, SQLException failure, Class<?> type, String says) {
        RecordedDb db = new RecordedDb(dialect);
        db.on("LOCK_TIMEOUT()", call -> Answer.row(2_000L))
                .on("SELECT @@SESSION", call -> Answer.row(50L))
                .on("holdfast_transaction", call -> {
                    throw failure;
                });
        assertThatThrownBy(() -> lock(db, Duration.ofSeconds(2)))
                .isInstanceOf(type)
                .hasMessageStartingWith("lock 'account/7': ")
                .hasMessageContaining(says)
                .hasCause(failure);
    }

    @Test
    void connectionThatDoesNotWork_isToldFromALockThatIsRefused() throws Exception {
        RecordedDb db = new RecordedDb(DatabaseDialects.POSTGRESQL);
        Connection connection = transaction(db);
        db.before = (number, method) -> {
            if (method.equals("getMetaData")) {
                throw new SQLException("This connection has been closed.", "08003");
            }
        };
        assertThatThrownBy(() -> TransactionLock.lock(connection, NAME, Duration.ZERO))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessage("lock 'account/7': the connection does not work (This connection has been closed.); take"
                        + " another one");
    }

    @ParameterizedTest
    @EnumSource
    void whatCannotBe_isRefusedWithoutAStatement(Product product) throws Exception {
        DatabaseDialect dialect = product.dialect();
        RecordedDb db = new RecordedDb(dialect);
        Connection connection = transaction(db);
        assertThatThrownBy(() -> TransactionLock.lock(connection, NAME, Duration.ofMillis(-1)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("lock 'account/7': wait must not be negative, got PT-0.001S");
        assertThatThrownBy(() -> TransactionLock.lock(connection, "", Duration.ZERO))
                .isInstanceOf(IllegalArgumentException.class);
        db.autoCommit = true;
        Connection other = db.connection();
        assertThatThrownBy(() -> TransactionLock.lock(other, NAME, Duration.ZERO))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage(
                        "lock 'account/7': the connection has auto-commit on, so that there is no transaction to hold"
                                + " the lock; switch it off");
        assertThat(db.calls()).isEmpty();
    }

    /** InnoDB counts in seconds: what it would make longer or nothing is refused, what it rounds down is not. */
    @ParameterizedTest
    @CsvSource({"MARIADB, 1", "MARIADB, 999", "MYSQL, 1", "MYSQL, 999"})
    void wait_belowASecond_isRefusedOnInnoDb(Product product, long millis) {
        DatabaseDialect dialect = product.dialect();
        RecordedDb db = new RecordedDb(dialect);
        assertThatThrownBy(() -> lock(db, Duration.ofMillis(millis)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(dialect.title() + " counts waits in whole seconds and cannot keep one of");
        assertThat(db.calls()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({
        "PT0S, 1",
        "PT0.001S, 1",
        "PT1.4S, 1400",
        "PT8760H, 2147483647",
    })
    void wait_onPostgres_isInMilliseconds_neverWithoutALimit(Duration wait, String expected) throws Exception {
        RecordedDb db = new RecordedDb(DatabaseDialects.POSTGRESQL);
        db.on(LOCK, call -> Answer.row(5L, ""));
        assertThat(lock(db, wait)).isEqualTo(5);
        assertThat(db.calls()).hasSize(1);
        assertThat(db.calls().get(0).parameters()).containsExactly(expected, NAME);
    }

    @ParameterizedTest
    @CsvSource({"PT0S, 0", "PT1S, 1", "PT1.999S, 1"})
    void wait_onMariaDb_isOfTheStatement_andRoundedDown(Duration wait, long seconds) throws Exception {
        RecordedDb db = new RecordedDb(DatabaseDialects.MARIADB);
        db.on(LOCK, call -> Answer.row(5L));
        assertThat(lock(db, wait)).isEqualTo(5);
        assertThat(statements(db))
                .singleElement()
                .asString()
                .startsWith("SET STATEMENT innodb_lock_wait_timeout = " + seconds
                        + ", innodb_snapshot_isolation = @@in_transaction FOR " + LOCK);
    }

    /** Before MariaDB had a setting for it, the row as locked is compared with the row as seen. */
    @Test
    void mariaDbWithoutTheSetting_compares_withTheSameWait() throws Exception {
        RecordedDb db = new RecordedDb(DatabaseDialects.MARIADB);
        db.on("innodb_snapshot_isolation", call -> {
            throw new SQLException("Unknown system variable", "HY000", 1193);
        });
        db.on("FOR UPDATE", call -> Answer.row(5L, 5L));

        assertThat(lock(db, Duration.ofSeconds(3))).isEqualTo(6);

        assertThat(statements(db).subList(1, 4))
                .satisfiesExactly(
                        sql -> assertThat(sql)
                                .startsWith("SET STATEMENT innodb_lock_wait_timeout = 3 FOR " + LOCK)
                                .endsWith("UPDATE token = token"),
                        sql -> assertThat(sql).contains("FOR UPDATE"),
                        sql -> assertThat(sql).startsWith("UPDATE holdfast_transaction SET token = token + 1"));
        assertThat(db.calls()).allSatisfy(call -> assertThat(call.parameters()).containsExactly(NAME));
    }

    /** The session's wait is put back, whatever came of it. */
    @ParameterizedTest
    @CsvSource({"PT0S, 1, true", "PT7.9S, 7, true", "PT2S, 2, false"})
    void wait_onMySql_isOfTheSession_andPutBack(Duration wait, long seconds, boolean works) throws Exception {
        RecordedDb db = new RecordedDb(DatabaseDialects.MYSQL);
        db.on("SELECT @@SESSION.innodb_lock_wait_timeout", call -> Answer.row(50L))
                .on("FOR UPDATE", call -> Answer.row(5L, works ? 5L : 4L));
        if (works) {
            assertThat(lock(db, wait)).isEqualTo(6);
        } else {
            assertThatThrownBy(() -> lock(db, wait))
                    .isInstanceOf(LockUnavailableException.class)
                    .hasMessageContaining("another transaction has had the lock since");
        }
        assertThat(statements(db).get(1)).isEqualTo("SET SESSION innodb_lock_wait_timeout = " + seconds);
        assertThat(statements(db))
                .endsWith("SET SESSION innodb_lock_wait_timeout = 50")
                .hasSize(works ? 6 : 5);
    }

    @Test
    void comparing_rowIsGone_isStale() throws Exception {
        RecordedDb db = new RecordedDb(DatabaseDialects.MYSQL);
        assertThatThrownBy(() -> InnoDbDialect.lockAndCompare(transaction(db), "", new byte[] {1}))
                .isInstanceOf(SQLException.class)
                .hasMessage("another transaction has had the lock since");
    }

    /** A new name is inserted; another transaction may have done so meanwhile, and then there is a row to wait for. */
    @ParameterizedTest
    @CsvSource({"23505, 5", "08006, 0"})
    void h2_newName_isInserted_orWaitedFor(String state, long token) throws Exception {
        RecordedDb db = new RecordedDb(DatabaseDialects.H2);
        db.on("LOCK_TIMEOUT()", call -> Answer.row(2_000L));
        assertThat(lock(db, Duration.ofMillis(1_234))).isEqualTo(1);
        assertThat(statements(db))
                .startsWith("SELECT LOCK_TIMEOUT()", "SET LOCK_TIMEOUT 1234")
                .endsWith("SET LOCK_TIMEOUT 2000");

        db.on("INSERT", call -> {
            db.on("FINAL TABLE", update -> Answer.row(5L));
            throw new SQLException("failed", state);
        });
        if (token == 0) {
            assertThatThrownBy(() -> lock(db, Duration.ZERO)).isInstanceOf(LockUnavailableException.class);
        } else {
            assertThat(lock(db, Duration.ZERO)).isEqualTo(token);
        }
        assertThat(statements(db)).endsWith("SET LOCK_TIMEOUT 2000");
    }

    /** H2 at SERIALIZABLE writes whatever was seen: what it locked must follow what it saw. */
    @ParameterizedTest
    @CsvSource({"4, 5, true", "4, 6, false"})
    void h2_atSerializable_comparesWithWhatItSaw(long seen, long locked, boolean works) throws Exception {
        RecordedDb db = new RecordedDb(DatabaseDialects.H2);
        db.on("LOCK_TIMEOUT()", call -> Answer.row(2_000L))
                .on("MAX(token)", call -> Answer.row(seen))
                .on("FINAL TABLE", call -> Answer.row(locked));
        db.autoCommit = false;
        db.isolation = Connection.TRANSACTION_SERIALIZABLE;
        Connection connection = db.connection();
        if (works) {
            assertThat(TransactionLock.lock(connection, NAME, Duration.ZERO, CHECKED))
                    .isEqualTo(locked);
        } else {
            assertThatThrownBy(() -> TransactionLock.lock(connection, NAME, Duration.ZERO))
                    .isInstanceOf(LockUnavailableException.class)
                    .hasMessageContaining("another transaction has had the lock since");
        }
    }

    @Test
    void statementWithoutAnAnswer_isToldSo() {
        RecordedDb db = new RecordedDb(DatabaseDialects.POSTGRESQL);
        assertThatThrownBy(() -> lock(db, Duration.ZERO))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("no answer to a statement that always has one");
    }
}
