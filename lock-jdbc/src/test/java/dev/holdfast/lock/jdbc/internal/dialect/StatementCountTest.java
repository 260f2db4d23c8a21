package dev.holdfast.lock.jdbc.internal.dialect;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.renew;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.tryAcquire;
import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.jdbc.CountingDataSource;
import dev.holdfast.lock.jdbc.JdbcInternals;
import dev.holdfast.lock.jdbc.JdbcLocks;
import dev.holdfast.lock.jdbc.SharedDb;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import java.nio.file.Files;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What each operation costs, counted at the data source and, where the server counts statements, on the server. */
final class StatementCountTest {

    @ParameterizedTest
    @EnumSource
    void attemptAndRelease_uncontended_oneStatementEach(SharedDb shared) throws Exception {
        try (Counted counted = new Counted(shared.db())) {
            release(counted.backend, acquire(counted.backend, "orders/42"));

            long before = counted.statements();
            long serverBefore = counted.onServer();
            Grant grant = acquire(counted.backend, "orders/42");
            assertThat(counted.statements() - before).as("acquire").isEqualTo(1);
            assertThat(release(counted.backend, grant)).isEqualTo(ReleaseResult.RELEASED);
            assertThat(counted.statements() - before).as("acquire and release").isEqualTo(2);
            assertThat(counted.onServer() - serverBefore)
                    .as("seen by the server")
                    .isEqualTo(counted.serverCounts() ? 2 + counted.look() : 0);
        }
    }

    @ParameterizedTest
    @EnumSource
    void firstUseOfAName_aStatementForEachThatFindsNoRow(SharedDb shared) throws Exception {
        try (Counted counted = new Counted(shared.db())) {
            acquire(counted.backend, "warm-up");

            long before = counted.statements();
            acquire(counted.backend, "new");

            assertThat(counted.statements() - before)
                    .isEqualTo(
                            switch (Product.of(shared.db().dialect)) {
                                case POSTGRESQL -> 1;
                                case H2 -> 2;
                                case MARIADB, MYSQL -> 3;
                            });
        }
    }

    @ParameterizedTest
    @EnumSource
    void attempt_busy_oneStatement_theFirstTimeTwoOnMariaDb(SharedDb shared) throws Exception {
        try (Counted counted = new Counted(shared.db())) {
            acquire(counted.backend, "busy");

            long before = counted.statements();
            AcquireResult result = tryAcquire(counted.backend, "busy");

            assertThat(result).isInstanceOf(AcquireResult.Busy.class);
            assertThat(((AcquireResult.Busy) result).remainingMillis()).isBetween(1L, 60_000L);
            assertThat(counted.statements() - before).isEqualTo(Product.isInnoDb(shared.db().dialect) ? 2 : 1);

            before = counted.statements();
            tryAcquire(counted.backend, "busy");
            assertThat(counted.statements() - before).as("the next poll").isEqualTo(1);
        }
    }

    @ParameterizedTest
    @EnumSource
    void renew_thousandLeases_oneStatement(SharedDb shared) throws Exception {
        try (Counted counted = new Counted(shared.db())) {
            List<Grant> grants = new ArrayList<>();
            for (int i = 0; i < 1_000; i++) {
                grants.add(acquire(counted.backend, "renewal/" + i));
            }

            long before = counted.statements();
            long serverBefore = counted.onServer();
            List<RenewResult> results = renew(counted.backend, grants);

            assertThat(results).hasSize(1_000).hasOnlyElementsOfType(RenewResult.Renewed.class);
            assertThat(counted.statements() - before).isEqualTo(1);
            assertThat(counted.onServer() - serverBefore)
                    .as("seen by the server")
                    .isEqualTo(counted.serverCounts() ? 1 + counted.look() : 0);
        }
    }

    @ParameterizedTest
    @EnumSource
    void renew_someLost_tellsWhich(SharedDb shared) throws Exception {
        try (Counted counted = new Counted(shared.db())) {
            List<Grant> grants = new ArrayList<>();
            for (int i = 0; i < 100; i++) {
                grants.add(acquire(counted.backend, "some/" + i));
            }
            release(counted.backend, grants.get(17));
            release(counted.backend, grants.get(99));
            acquire(counted.backend, "some/99");

            List<RenewResult> results = renew(counted.backend, grants);

            for (int i = 0; i < 100; i++) {
                assertThat(results.get(i))
                        .as("lease " + i)
                        .isInstanceOf(i == 17 || i == 99 ? RenewResult.Lost.class : RenewResult.Renewed.class);
            }
        }
    }

    /** A backend on a table of its own, with an eye on it. */
    private static final class Counted implements AutoCloseable {
        private static final String ALIVE = "com.zaxxer.hikari.aliveBypassWindowMs";

        private final Db db;
        private final HikariDataSource pool;
        private final AtomicLong count = new AtomicLong();
        final LockBackend backend;

        Counted(Db db) {
            this.db = db;
            // One connection: its session's statements are counted, and the server counts those of another one, too.
            // And it would try one that was idle for half a second, as on a busy machine, by a statement of its own.
            String before =
                    System.setProperty(ALIVE, Long.toString(Duration.ofHours(1).toMillis()));
            try {
                pool = db.pool(config -> config.setMaximumPoolSize(1));
            } finally {
                if (before == null) {
                    System.clearProperty(ALIVE);
                } else {
                    System.setProperty(ALIVE, before);
                }
            }
            backend = JdbcInternals.backend(
                    JdbcLocks.builder(new CountingDataSource(pool, count))
                            .table(SharedDb.newTable())
                            .createTable(true),
                    LockClientOptions.defaults());
        }

        long statements() {
            return count.get();
        }

        boolean serverCounts() {
            return db.isServer();
        }

        /** What asking the server adds to its count. */
        long look() {
            return db.dialect == DatabaseDialects.POSTGRESQL ? 0 : mysqlLook;
        }

        private long mysqlLook;

        /** Statements that the server has seen, including those of the asking itself, learned on the first call. */
        long onServer() throws Exception {
            if (!db.isServer()) {
                return 0;
            }
            if (db.dialect == DatabaseDialects.POSTGRESQL) {
                try (var lines =
                        Files.lines(db.process().environment().log(), java.nio.charset.StandardCharsets.ISO_8859_1)) {
                    return lines.filter(line -> line.contains("LOG:  execute ") || line.contains("LOG:  statement: "))
                            .count();
                }
            }
            if (mysqlLook == 0) {
                long first = questions();
                mysqlLook = questions() - first;
            }
            return questions();
        }

        /** Of the pool's one session: others, as those of connections being closed, come when they come. */
        private long questions() throws Exception {
            try (Connection connection = pool.getConnection();
                    Statement statement = connection.createStatement();
                    ResultSet row = statement.executeQuery("SELECT sum(variable_value)"
                            + " FROM information_schema.session_status"
                            + " WHERE variable_name IN ('QUESTIONS', 'COM_STMT_PREPARE')")) {
                row.next();
                return row.getLong(1);
            }
        }

        @Override
        public void close() {
            backend.close();
            pool.close();
        }
    }
}
