package dev.holdfast.lock.jdbc;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.TIMEOUT_MILLIS;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.answer;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.ListedLock;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockListing;
import dev.holdfast.lock.jdbc.internal.dialect.Db;
import dev.holdfast.lock.jdbc.internal.sql.TableName;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.LockName;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.util.concurrent.atomic.AtomicLong;
import javax.sql.DataSource;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What a listing of strategy SESSION has: names whose session holds them in that moment, and no row that a crash left. */
final class SessionListingTest {
    private final TableName table = new TableName(SharedDb.newTable());

    private LockBackend backend(DataSource pool) throws Exception {
        return JdbcInternals.backend(
                JdbcLocks.builder(pool)
                        .strategy(JdbcStrategy.SESSION)
                        .table(table.text())
                        .createTable(true),
                LockClientOptions.defaults());
    }

    private static LockListing list(LockBackend backend, String prefix) {
        return answer(backend.list(prefix, 100, TIMEOUT_MILLIS));
    }

    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB", "MARIADB_BY_MYSQL_DRIVER"})
    void heldLocks_ofAnotherClient_areListedByName_inOneStatement(SharedDb shared) throws Exception {
        AtomicLong statements = new AtomicLong();
        try (HikariDataSource pool = shared.db().pool(config -> {});
                LockBackend holder = backend(pool);
                LockBackend operator = backend(new CountingDataSource(pool, statements))) {
            Grant first = acquire(holder, "p/Ä 1");
            Grant second = acquire(holder, "p/2\u00df\ud83d\udd12");
            acquire(holder, "other");
            await().until(() -> list(operator, "").locks().size() == 3);

            long before = statements.get();
            LockListing page = list(operator, "p/");
            assertThat(statements.get() - before).as("statements").isEqualTo(1);

            assertThat(page.locks())
                    .extracting(ListedLock::name, each -> each.holders().get(0).token())
                    .containsExactly(tuple("p/2\u00df\ud83d\udd12", second.token()), tuple("p/Ä 1", first.token()));
            release(holder, second);
            assertThat(list(operator, "p/").locks())
                    .extracting(ListedLock::name)
                    .containsExactly("p/Ä 1");
        }
    }

    /** Left by a crash: of a session that has ended, and of one whose number a holder of another name has now. */
    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB"})
    void rowsOfEarlierHolders_areNotListed(SharedDb shared) throws Exception {
        Db db = shared.db();
        try (HikariDataSource pool = db.pool(config -> {});
                LockBackend backend = backend(pool)) {
            acquire(backend, "held");
            acquire(backend, "held by another session");
            await().until(() -> list(backend, "").locks().size() == 2);
            long session = SessionAdministrator.holder(db, table, "held");
            row(db, "free, its session holds another lock", session);
            row(db, "free, its session has ended", 2_000_000_000);

            assertThat(db.number("SELECT count(*) FROM " + table)).isEqualTo(4);
            assertThat(list(backend, "").locks())
                    .extracting(ListedLock::name)
                    .contains("held")
                    .noneMatch(name -> name.startsWith("free"));

            try (Connection connection = db.connect();
                    PreparedStatement statement = connection.prepareStatement(
                            "UPDATE " + table + " SET session = session + 1 WHERE name = ?")) {
                statement.setBytes(1, LockName.utf8("held by another session"));
                statement.executeUpdate();
            }
            assertThat(list(backend, "").locks()).extracting(ListedLock::name).containsExactly("held");
        }
    }

    private void row(Db db, String name, long session) throws Exception {
        try (Connection connection = db.connect();
                PreparedStatement statement = connection.prepareStatement("INSERT INTO " + table
                        + " (name, token, session, since, holder) VALUES (?, 7, ?, CURRENT_TIMESTAMP, '1 h w')")) {
            statement.setBytes(1, LockName.utf8(name));
            statement.setLong(2, session);
            statement.executeUpdate();
        }
    }
}
