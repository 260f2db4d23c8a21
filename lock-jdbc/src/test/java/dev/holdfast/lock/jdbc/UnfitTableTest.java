package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.jdbc.internal.dialect.Db;
import dev.holdfast.lock.jdbc.internal.dialect.LockTable;
import dev.holdfast.lock.jdbc.internal.dialect.Schema;
import dev.holdfast.lock.jdbc.internal.sql.TableName;
import dev.holdfast.lock.testkit.house.House;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** A table with the right name and columns, but of a kind that cannot keep a lock for one holder. */
@House("servers:by hand")
final class UnfitTableTest {
    private final String table = SharedDb.newTable();

    private void build(Db db, JdbcStrategy strategy) {
        build(db, strategy, false);
    }

    private void build(Db db, JdbcStrategy strategy, boolean create) {
        try (HikariDataSource pool = db.pool(config -> {})) {
            JdbcLocks.builder(pool)
                    .strategy(strategy)
                    .table(table)
                    .createTable(create)
                    .backend(LockClientOptions.defaults())
                    .close();
        }
    }

    private void create(Db db, JdbcStrategy strategy) throws SQLException {
        db.execute(new Schema(LockTable.valueOf(strategy.name()), db.dialect, new TableName(table))
                .statements()
                .toArray(String[]::new));
    }

    private LockConfigurationException refusal(Db db, JdbcStrategy strategy) {
        try {
            build(db, strategy, true);
        } catch (LockConfigurationException e) {
            assertThat(e).hasMessageStartingWith("lock table '" + table + "' on " + db.dialect.title() + " ");
            return e;
        }
        throw new AssertionError("built on an unfit table");
    }

    private static String remedy(LockConfigurationException refused) {
        return refused.getMessage().replaceFirst(".* run: ", "");
    }

    static Stream<Arguments> strategies() {
        return Stream.of(SharedDb.values())
                .flatMap(shared -> Stream.of(JdbcStrategy.values()).map(strategy -> Arguments.of(shared, strategy)))
                .filter(each -> each.get()[0] != SharedDb.H2
                        || each.get()[1] == JdbcStrategy.VERSION
                        || each.get()[1] == JdbcStrategy.UNIQUE_INDEX);
    }

    @ParameterizedTest
    @MethodSource("strategies")
    void copyWithoutPrimaryKey_isRefused_untilItHasOne(SharedDb shared, JdbcStrategy strategy) throws Exception {
        Db db = shared.db();
        create(db, strategy);
        db.execute(
                "CREATE TABLE " + table + "_copy AS SELECT * FROM " + table,
                "DROP TABLE " + table,
                "ALTER TABLE " + table + "_copy RENAME TO " + table);
        LockConfigurationException refused = refusal(db, strategy);
        assertThat(refused).hasMessageContaining(" has no primary key (name");
        db.execute(remedy(refused).split("; "));
        build(db, strategy);
    }

    @ParameterizedTest
    @CsvSource({"VERSION, MyISAM", "ROW_LOCK, Aria", "UNIQUE_INDEX, Aria", "ROW_LOCK, MEMORY"})
    void otherEngine_isRefused_untilItIsInnoDb(JdbcStrategy strategy, String engine) throws Exception {
        Db db = SharedDb.MARIADB.db();
        create(db, strategy);
        db.execute("ALTER TABLE " + table + " ROW_FORMAT=DEFAULT, ENGINE=" + engine);
        LockConfigurationException refused = refusal(db, strategy);
        assertThat(refused).hasMessageContaining(" has the engine " + engine + " instead of InnoDB");
        db.execute(remedy(refused).split("; "));
        build(db, strategy);
    }

    @Test
    void unloggedTable_isRefused_untilItIsLogged() throws Exception {
        Db db = SharedDb.POSTGRESQL.db();
        create(db, JdbcStrategy.VERSION);
        try (HikariDataSource pool = db.pool(config -> {});
                LockClient client = JdbcLocks.builder(pool).table(table).build()) {
            assertThat(client.examine())
                    .noneMatch(finding -> finding.observation().contains(table));
            db.execute("ALTER TABLE " + table + " SET UNLOGGED");
            assertThat(client.examine())
                    .noneMatch(finding -> finding.observation().contains("a grant is on disk"))
                    .anyMatch(finding -> finding.observation().contains("'" + table + "' on PostgreSQL is UNLOGGED")
                            && finding.remedy().contains("ALTER TABLE " + table + " SET LOGGED"));
        }
        LockConfigurationException refused = refusal(db, JdbcStrategy.VERSION);
        assertThat(refused).hasMessageContaining(" is UNLOGGED");
        db.execute(remedy(refused).split("; "));
        build(db, JdbcStrategy.VERSION);
    }

    @Test
    void viewAndTemporaryTable_areRefused() throws Exception {
        Db db = SharedDb.POSTGRESQL.db();
        create(db, JdbcStrategy.VERSION);
        db.execute(
                "ALTER TABLE " + table + " RENAME TO " + table + "_base",
                "CREATE VIEW " + table + " AS SELECT * FROM " + table + "_base");
        assertThat(refusal(db, JdbcStrategy.VERSION)).hasMessageContaining(" is a view or a foreign table");
        try (HikariDataSource pool = db.pool(config -> config.setConnectionInitSql(
                "CREATE TEMPORARY TABLE IF NOT EXISTS " + table + " (LIKE " + table + "_base INCLUDING ALL)"))) {
            assertThatThrownBy(() -> JdbcLocks.builder(pool).table(table).backend(LockClientOptions.defaults()))
                    .isInstanceOf(LockConfigurationException.class)
                    .hasMessageContaining(" is TEMPORARY");
        }
    }

    /** Other unique keys do not do: of the name's beginning, of some rows, or of more columns. */
    @Test
    void otherUniqueKeys_areNoPrimaryKey() throws Exception {
        create(SharedDb.MARIADB.db(), JdbcStrategy.VERSION);
        SharedDb.MARIADB
                .db()
                .execute("ALTER TABLE " + table + " DROP PRIMARY KEY, ADD UNIQUE KEY start (name(20)),"
                        + " ADD UNIQUE KEY more (name, token)");
        assertThat(refusal(SharedDb.MARIADB.db(), JdbcStrategy.VERSION)).hasMessageContaining(" has no primary key");

        Db postgres = SharedDb.POSTGRESQL.db();
        create(postgres, JdbcStrategy.VERSION);
        postgres.execute(
                "ALTER TABLE " + table + " DROP CONSTRAINT " + table + "_pkey",
                "CREATE UNIQUE INDEX ON " + table + " (name) WHERE owner IS NOT NULL",
                "CREATE UNIQUE INDEX ON " + table + " (name, token)");
        assertThat(refusal(postgres, JdbcStrategy.VERSION)).hasMessageContaining(" has no primary key");
        postgres.execute("CREATE UNIQUE INDEX ON " + table + " (name) INCLUDE (token)");
        build(postgres, JdbcStrategy.VERSION);
    }

    @Test
    void transactionTable_ofAnotherKind_isRefused() throws Exception {
        try (Db db = Db.h2Memory()) {
            db.execute("CREATE TABLE holdfast_transaction (name VARBINARY(512) NOT NULL, token BIGINT NOT NULL)");
            assertLockIsRefused(db, "lock table 'holdfast_transaction' on H2 has no primary key (name)");
        }
        try (Db db = Db.mariadb("mariadb")) {
            for (String engine : List.of("Aria", "InnoDB")) {
                db.execute(
                        "DROP TABLE IF EXISTS holdfast_transaction",
                        "CREATE TABLE holdfast_transaction (name VARBINARY(512) NOT NULL PRIMARY KEY, token BIGINT NOT"
                                + " NULL) ENGINE=" + engine);
                if (!engine.equals("InnoDB")) {
                    assertLockIsRefused(db, " has the engine Aria instead of InnoDB");
                }
            }
            try (Connection connection = db.connect()) {
                connection.setAutoCommit(false);
                assertThat(JdbcLocks.lockInTransaction(connection, "a", Duration.ZERO))
                        .isEqualTo(1);
            }
        }
    }

    private static void assertLockIsRefused(Db db, String says) throws SQLException {
        try (Connection connection = db.connect()) {
            connection.setAutoCommit(false);
            assertThatThrownBy(() -> JdbcLocks.lockInTransaction(connection, "a", Duration.ZERO))
                    .isInstanceOf(LockConfigurationException.class)
                    .hasMessageContaining(says);
        }
    }
}
