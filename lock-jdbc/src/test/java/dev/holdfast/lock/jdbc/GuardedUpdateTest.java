package dev.holdfast.lock.jdbc;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.acquire;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.jdbc.internal.connection.RecordedDb;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialects;
import dev.holdfast.lock.jdbc.internal.dialect.Db;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import java.sql.Connection;
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
        GuardedUpdate write =
                GuardedUpdate.of("UPDATE t SET a = ':token ?', b = x::token, c = ? WHERE d <= :token AND e = 'it''s'");

        assertThat(write)
                .hasToString(
                        "GuardedUpdate[UPDATE t SET a = ':token ?', b = x::token, c = ? WHERE d <= ? AND e = 'it''s']");
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

        assertThat(db.calls().get(0).parameters()).containsExactly("a", 7L, null, 42, 7L, 'c');
        assertThat(db.calls().get(0).sql())
                .isEqualTo("UPDATE t SET a = ?, k = ?, b = ?\n where id = ? AND k\n<= ? AND c <> ?");
        assertThatThrownBy(() -> write.execute(db.connection(), 7, "a", "b", 42, "c", "one too many"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("guarded statement takes 4 values, got 5: UPDATE t");
        assertThat(db.calls()).hasSize(1);
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

    @Test
    void of_nothing_namesTheParameter() {
        assertThatThrownBy(() -> GuardedUpdate.of(null))
                .isInstanceOf(NullPointerException.class)
                .hasMessage("sql");
    }
}
