package dev.holdfast.lock.jdbc;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.acquire;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.jdbc.internal.connection.RecordedDb;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialects;
import dev.holdfast.lock.jdbc.internal.dialect.Db;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import java.sql.Connection;
import java.sql.DriverManager;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A stale holder's write changes nothing. */
final class GuardedUpdateTest {

    @ParameterizedTest
    @EnumSource
    void execute_staleToken_changesNothing(SharedDb shared) throws Exception {
        Db db = shared.db();
        String table = SharedDb.newTable();
        String item = SharedDb.newTable();
        db.execute(
                "CREATE TABLE " + item + " (id INT PRIMARY KEY, note VARCHAR(20), lock_token BIGINT NOT NULL)",
                "INSERT INTO " + item + " VALUES (42, 'new', 0)");
        GuardedUpdate write = GuardedUpdate.of(
                "UPDATE " + item + " SET note = ?, lock_token = :token WHERE id = ? AND lock_token <= :token");
        try (HikariDataSource pool = db.pool(config -> {});
                Connection connection = db.connect()) {
            LockBackend backend =
                    JdbcLocks.builder(pool).table(table).createTable(true).backend(LockClientOptions.defaults());
            Grant paused = acquire(backend, "item/42");
            db.execute("UPDATE " + table + " SET owner = NULL");
            Grant successor = acquire(backend, "item/42");

            assertThat(write.execute(connection, successor.token(), "successor", 42))
                    .isEqualTo(1);
            assertThat(write.execute(connection, paused.token(), "stale", 42)).isZero();
            assertThat(write.execute(connection, successor.token(), "again", 42))
                    .isEqualTo(1);

            assertThat(db.number("SELECT count(*) FROM " + item + " WHERE note = 'again'"))
                    .isEqualTo(1);
            backend.close();
        }
    }

    @Test
    void of_leavesTextAndCastsAlone() {
        GuardedUpdate write = GuardedUpdate.of(
                "UPDATE t SET a = ':token ?', b = x::token, c = ?, d = :token WHERE d <= :token AND e = 'it''s'");

        assertThat(write)
                .hasToString(
                        "GuardedUpdate[UPDATE t SET a = ':token ?', b = x::token, c = ?, d = ? WHERE d <= ? AND e = 'it''s']");
        assertThatThrownBy(() -> write.execute(new RecordedDb(DatabaseDialects.H2).connection(), 1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("takes 1 values");
    }

    @Test
    void of_withoutCondition_refused() {
        assertThatThrownBy(() -> GuardedUpdate.of("UPDATE t SET a = :token"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("<= :token");
    }

    @Test
    void execute_bindsValuesAndTokenInTheOrderOfTheText() throws Exception {
        RecordedDb db = new RecordedDb(DatabaseDialects.H2);
        db.on("UPDATE", call -> RecordedDb.Answer.count(3));
        GuardedUpdate write =
                GuardedUpdate.of("UPDATE t SET a = ?, k = :token, b = ?\n where id = ? AND k\n<= :token AND c <> ?");

        assertThat(write.execute(db.connection(), 7, "a", null, 42, 'c')).isEqualTo(3);

        assertThat(db.calls().get(0).sql()).isEqualTo("SELECT k FROM t WHERE 1 = 0");
        assertThat(db.calls().get(1).parameters()).containsExactly("a", 7L, null, 42, 7L, 'c');
        assertThat(db.calls().get(1).sql())
                .isEqualTo("UPDATE t SET a = ?, k = ?, b = ?\n where id = ? AND k\n<= ? AND c <> ?");
        assertThatThrownBy(() -> write.execute(db.connection(), 7, "a", "b", 42, "c", "one too many"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("guarded statement takes 4 values, got 5: UPDATE t");
        assertThat(db.calls()).hasSize(2);
    }

    /** Each of them would let a stale token write, or be no condition at all. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "UPDATE t SET a = b <= :token WHERE id = 1",
                "UPDATE t SET a = 1 WHERE k <= :tokens",
                "UPDATE t SET a = 1 WHERE k < :token",
                "UPDATE t SET a = 1 WHERE k = :token",
                "UPDATE t SET a = 1 WHEREVER k <= :token",
                "UPDATE t SET a = 1 WHERE k <= ?"
            })
    void of_whatIsNoSuchCondition_refused(String sql) {
        assertThatThrownBy(() -> GuardedUpdate.of(sql))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(
                        "guarded statement has no condition '<= :token' after WHERE; add it, so that a stale token is"
                                + " refused: " + sql);
    }

    /** The row would not remember the token, and the next stale one would pass. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "UPDATE t SET a = ? WHERE id = ? AND k <= :token",
                "UPDATE t SET a = ?, other = :token WHERE k <= :token",
                "UPDATE t SET k = :token + 1 WHERE k <= :token",
                "UPDATE t SET k = :token, k = 0 WHERE k <= :token",
                "UPDATE t SET a = 'k = :token' WHERE k <= :token",
                "UPDATE t SET /* k = :token, */ a = 1 WHERE k <= :token"
            })
    void of_tokenIsNotWritten_refused(String sql) {
        assertThatThrownBy(() -> GuardedUpdate.of(sql))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("guarded statement does not write 'k = :token' after SET; add it, so that the row has the"
                        + " token: " + sql);
    }

    /** A row may pass without the comparison, or the comparison is none of the statement's. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "UPDATE t SET k = :token WHERE id = ? OR k <= :token",
                "UPDATE t SET k = :token WHERE k <= :token AND id = 1 OR id = 2",
                "UPDATE t SET k = :token WHERE (id = 2 OR (k <= :token))",
                "UPDATE t SET k = :token WHERE id = 2 || k <= :token",
                "UPDATE t SET k = :token WHERE k <= :token XOR TRUE",
                "UPDATE t SET k = :token WHERE NOT k <= :token",
                "UPDATE t SET k = :token WHERE NOT (k <= :token)",
                "UPDATE t SET k = :token WHERE k <= :token + 5",
                "UPDATE t SET k = :token WHERE k <= :token IS NOT NULL",
                "UPDATE t SET k = :token WHERE 0 * k <= :token",
                "UPDATE t SET k = :token WHERE id BETWEEN 1 AND k <= :token",
                "UPDATE t SET k = :token WHERE id = CASE WHEN id = 1 AND k <= :token THEN id ELSE id END",
                "UPDATE t SET k = :token WHERE EXISTS (SELECT 1 FROM u WHERE k <= :token)",
                "UPDATE t SET k = :token WHERE id = ? -- AND k <= :token",
                "UPDATE t SET k = :token WHERE id = ? /* AND k <= :token */",
                "UPDATE t SET k = :token WHERE id = 'x AND k <= :token'",
                "UPDATE t SET k = :token FROM u WHERE u.k <= :token",
                "UPDATE t SET k = :token WHERE k <= :token AND \"order\" = 1 OR TRUE",
                "UPDATE t SET k = :token WHERE k <= :token ORDER BY 1 OR 1"
            })
    void of_conditionIsVoid_refused(String sql) {
        assertThatThrownBy(() -> GuardedUpdate.of(sql))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("guarded statement has no condition '<= :token' after WHERE");
    }

    /** One database reads a comment or a string where another one reads code. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "UPDATE t SET k = :token WHERE id = 'it\\' OR 1 = 1 -- ' AND k <= :token",
                "UPDATE t SET k = :token WHERE id = 5--1 OR 1 = 1\n AND k <= :token",
                "UPDATE t SET k = :token WHERE id = 5 # AND k <= :token",
                "UPDATE t SET k = :token WHERE /*! 1 = 1 OR */ k <= :token",
                "UPDATE t SET k = :token WHERE /*M! 1 = 1 OR */ k <= :token",
                "UPDATE t SET k = :token WHERE id = 1 /* /* */ OR 1 = 1 /* */ */ AND k <= :token",
                "UPDATE t SET k = :token WHERE id = $$' OR $$ AND k <= :token AND a = 'x'",
                "UPDATE t SET k = :token WHERE id = 1 -- \r OR 1 = 1 \n AND k <= :token",
                "UPDATE t SET k = :token WHERE k <= :token; DELETE FROM t",
                "UPDATE t, u SET k = :token WHERE k <= :token",
                "MERGE INTO t USING u ON k <= :token"
            })
    void of_whatDatabasesReadDifferently_refused(String sql) {
        assertThatThrownBy(() -> GuardedUpdate.of(sql)).isInstanceOf(IllegalArgumentException.class);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "UPDATE t SET k = :token WHERE k <= :token",
                "update shop.t as x set a = ?, x.k = :token where x.id = ? and (x.k <= :token)",
                "UPDATE t SET k=:token WHERE (id IN (?, ?) AND :token >= k) LIMIT 1",
                "UPDATE \"t\" SET \"k\" = :token, a = CASE WHEN b OR c THEN 1 ELSE 2 END WHERE \"k\" <= :token AND (b OR c)",
                "UPDATE t SET k = :token /* it's the token */ WHERE id BETWEEN ? AND ? AND k <= :token -- late",
                "UPDATE t SET k = :token FROM u WHERE u.id = t.id AND t.k <= :token RETURNING a",
                "DELETE FROM t WHERE id = ? AND k <= :token",
                "UPDATE t SET doc = ?, k = :token WHERE doc ?? 'a' AND k <= :token",
                "UPDATE t SET note = E'it\\'s', k = :token WHERE k <= :token"
            })
    void of_everyRowMustPassTheComparison_isAccepted(String sql) {
        assertThat(GuardedUpdate.of(sql).toString()).doesNotContain(":token");
    }

    @ParameterizedTest
    @EnumSource
    void execute_columnThatCannotHoldTokens_isRefused(SharedDb shared) throws Exception {
        Db db = shared.db();
        String item = SharedDb.newTable();
        GuardedUpdate write =
                GuardedUpdate.of("UPDATE " + item + " SET lock_token = :token WHERE id = ? AND lock_token <= :token");
        for (String[] column : new String[][] {
            {"INT NOT NULL", "which cannot hold every token"},
            {"DECIMAL(10) NOT NULL", "which cannot hold every token"},
            {"DOUBLE PRECISION NOT NULL", "which cannot hold every token"},
            {"BIGINT", "may be NULL"}
        }) {
            db.execute("CREATE TABLE " + item + " (id INT PRIMARY KEY, lock_token " + column[0] + ")");
            try (Connection connection = db.connect()) {
                assertThatThrownBy(() -> write.execute(connection, 1, 42))
                        .as(column[0])
                        .isInstanceOf(LockConfigurationException.class)
                        .hasMessageStartingWith("guarded statement: column 'lock_token' of " + item + " ")
                        .hasMessageContaining(column[1])
                        .hasMessageEndingWith("declare it BIGINT NOT NULL DEFAULT 0");
            }
            db.execute("DROP TABLE " + item);
        }
        db.execute("CREATE TABLE " + item + " (id INT PRIMARY KEY, lock_token BIGINT NOT NULL DEFAULT 0)");
        db.execute("INSERT INTO " + item + " (id) VALUES (42)");
        try (Connection connection = db.connect()) {
            assertThat(write.execute(connection, Long.MAX_VALUE, 42)).isEqualTo(1);
        }
    }

    /** The second write changes nothing, and the driver counts changes. */
    @ParameterizedTest
    @EnumSource(names = {"MARIADB", "MARIADB_BY_MYSQL_DRIVER"})
    void execute_driverCountsChanges_repeatedWriteIsOurs(SharedDb shared) throws Exception {
        Db db = shared.db();
        String item = SharedDb.newTable();
        db.execute(
                "CREATE TABLE " + item + " (id INT PRIMARY KEY, stock INT, lock_token BIGINT NOT NULL DEFAULT 0)",
                "INSERT INTO " + item + " VALUES (42, 10, 0)");
        GuardedUpdate write = GuardedUpdate.of("UPDATE " + item
                + " SET stock = ?, lock_token = :token WHERE id = ? AND lock_token <= :token -- of the holder");
        try (Connection connection = DriverManager.getConnection(
                db.url() + (db.url().contains("?") ? "&" : "?") + "useAffectedRows=true", db.user(), db.password())) {
            assertThat(write.execute(connection, 5_000, 9, 42)).isEqualTo(1);
            assertThat(write.execute(connection, 5_000, 9, 42)).as("again").isEqualTo(1);
            assertThat(write.execute(connection, 4_000, 9, 42)).as("stale").isZero();
            assertThat(write.execute(connection, 5_000, 9, 43)).as("no row").isZero();
        }
    }

    @Test
    void of_nothing_namesTheParameter() {
        assertThatThrownBy(() -> GuardedUpdate.of(null))
                .isInstanceOf(NullPointerException.class)
                .hasMessage("sql");
    }
}
