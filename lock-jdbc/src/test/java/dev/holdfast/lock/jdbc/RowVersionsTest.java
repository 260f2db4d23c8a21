package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.jdbc.internal.dialect.Db;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What an acquisition with its release leaves to PostgreSQL's vacuum and write-ahead log; prints the table of docs/jdbc.md. */
final class RowVersionsTest {
    private static final int NAMES = 50;
    private static final int PAIRS = 500;

    private record Counts(long updates, long hot, long walBytes, long transactions) {}

    @ParameterizedTest
    @CsvSource({"VERSION, 2, 2", "UNIQUE_INDEX, 2, 0", "ROW_LOCK, 1, 1"})
    void acquireAndRelease_writesRowVersions_hotUnlessAnIndexedColumnChanges(
            JdbcStrategy strategy, int versions, int hotVersions) throws Exception {
        Db db = SharedDb.POSTGRESQL.db();
        String table = SharedDb.newTable();
        pairs(db, strategy, table, NAMES);
        db.execute("ALTER TABLE " + table + " SET (autovacuum_enabled = false)");
        Counts before = counts(db, table);

        pairs(db, strategy, table, PAIRS);

        Counts after = counts(db, table);
        double updates = after.updates - before.updates;
        double hot = after.hot - before.hot;
        System.out.printf(
                "| `%s` | %.1f row versions | %.0f %% HOT | %d bytes of write-ahead log | %.1f transaction ids |%n",
                strategy,
                updates / PAIRS,
                100 * hot / updates,
                (after.walBytes - before.walBytes) / PAIRS,
                (after.transactions - before.transactions) / (double) PAIRS);
        assertThat(updates).as("row versions").isEqualTo(versions * PAIRS);
        assertThat(hot).as("HOT").isBetween(0.9 * hotVersions * PAIRS, 1.0 * hotVersions * PAIRS);
    }

    private static void pairs(Db db, JdbcStrategy strategy, String table, int pairs) throws Exception {
        try (HikariDataSource pool = db.pool(config -> config.addDataSourceProperty("ApplicationName", table));
                LockClient client = JdbcLocks.builder(pool)
                        .strategy(strategy)
                        .table(table)
                        .createTable(true)
                        .build()) {
            for (int i = 0; i < pairs; i++) {
                client.lock("name" + i % NAMES).acquire().close();
            }
        }
    }

    /** Sessions report to the statistics when they end, some time after the pool is closed. */
    private static Counts counts(Db db, String table) throws SQLException {
        await().atMost(Duration.ofSeconds(30))
                .until(() -> numbers(
                                db,
                                "SELECT count(*) FROM pg_stat_activity WHERE application_name = '" + table + "'",
                                1)[0]
                        == 0);
        long[] numbers = numbers(
                db,
                "SELECT n_tup_upd, n_tup_hot_upd, pg_current_wal_lsn() - '0/0'::pg_lsn,"
                        + " pg_snapshot_xmax(pg_current_snapshot())::text::bigint"
                        + " FROM pg_stat_user_tables WHERE relname = '" + table + "'",
                4);
        return new Counts(numbers[0], numbers[1], numbers[2], numbers[3]);
    }

    private static long[] numbers(Db db, String query, int columns) throws SQLException {
        try (Connection connection = db.connect();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(query)) {
            assertThat(row.next()).isTrue();
            long[] numbers = new long[columns];
            for (int i = 0; i < columns; i++) {
                numbers[i] = row.getLong(i + 1);
            }
            return numbers;
        }
    }
}
