package dev.holdfast.lock.jdbc.internal.sql;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.jdbc.JdbcInternals;
import dev.holdfast.lock.jdbc.JdbcLocks;
import dev.holdfast.lock.jdbc.JdbcStrategy;
import dev.holdfast.lock.jdbc.SharedDb;
import dev.holdfast.lock.jdbc.internal.dialect.Db;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** The queries of docs/stuck.md show the holder of a lock, or that it is free. */
final class RunbookTest {
    private static final Path PAGE = Path.of("../docs/stuck.md");

    static List<Arguments> all() {
        List<Arguments> all = new ArrayList<>();
        for (SharedDb shared : List.of(SharedDb.H2, SharedDb.POSTGRESQL, SharedDb.MARIADB)) {
            for (JdbcStrategy strategy : JdbcStrategy.values()) {
                if (shared != SharedDb.H2
                        || strategy == JdbcStrategy.VERSION
                        || strategy == JdbcStrategy.UNIQUE_INDEX) {
                    all.add(Arguments.of(shared, strategy));
                }
            }
        }
        return all;
    }

    @ParameterizedTest
    @MethodSource("all")
    void query_ofThePage_findsTheHolder_andNobody(SharedDb shared, JdbcStrategy strategy) throws Exception {
        Db db = shared.db();
        TableName table = new TableName(SharedDb.newTable());
        String query = query(db, strategy)
                .replace(JdbcInternals.table(strategy).defaultTable().text(), table.text());
        try (HikariDataSource pool = db.pool(config -> {})) {
            LockBackend backend = JdbcInternals.backend(
                    JdbcLocks.builder(pool)
                            .strategy(strategy)
                            .table(table.text())
                            .createTable(true),
                    LockClientOptions.defaults());
            Grant grant = acquire(backend, "orders/42");
            if (strategy == JdbcStrategy.SESSION) { // its row is for people only, and is written a moment later
                await().until(() -> !answers(db, query).isEmpty());
            }
            assertThat(answers(db, query)).singleElement().asString().contains(BackendDriver.IDENTITY.who());
            release(backend, grant);
            assertThat(answers(db, query)).isEmpty();
            backend.close();
        }
    }

    private static String query(Db db, JdbcStrategy strategy) throws Exception {
        List<String> rows = Files.readAllLines(PAGE).stream()
                .filter(line -> line.startsWith("| ") && line.contains("`SELECT holder"))
                .map(line -> line.split("\\|"))
                .filter(cells -> cells[1].contains(db.dialect.title()) && cells[1].contains("`" + strategy + "`"))
                .map(cells -> cells[2].strip().replace("`", ""))
                .toList();
        assertThat(rows).as(db.name + ", " + strategy + " in " + PAGE).hasSize(1);
        return rows.get(0);
    }

    private static List<String> answers(Db db, String query) throws SQLException {
        List<String> holders = new ArrayList<>();
        try (Connection connection = db.connect();
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(query)) {
            while (rows.next()) {
                holders.add(rows.getString("holder"));
            }
        }
        return holders;
    }
}
