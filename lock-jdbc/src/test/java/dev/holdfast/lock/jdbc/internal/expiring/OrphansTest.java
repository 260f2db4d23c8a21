package dev.holdfast.lock.jdbc.internal.expiring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.jdbc.JdbcInternals;
import dev.holdfast.lock.jdbc.JdbcLocks;
import dev.holdfast.lock.jdbc.JdbcStrategy;
import dev.holdfast.lock.jdbc.SharedDb;
import dev.holdfast.lock.jdbc.internal.connection.Database;
import dev.holdfast.lock.jdbc.internal.connection.RecordedDb;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialects;
import dev.holdfast.lock.jdbc.internal.dialect.Db;
import dev.holdfast.lock.jdbc.internal.dialect.LockTable;
import dev.holdfast.lock.jdbc.internal.sql.TableName;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What is removed behind attempts without an answer: not before its time, and not at the cost of other names. */
final class OrphansTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private static AcquireRequest request(AcquisitionId acquisition, long timeoutMillis) {
        return new AcquireRequest(
                acquisition, 60_000, timeoutMillis, false, null, timeoutMillis, Identity.ofThisProcess("a test"));
    }

    private static void assertUnanswered(LockBackend backend, AcquisitionId acquisition) {
        assertThatThrownBy(() -> BackendDriver.answer(backend.tryAcquire(request(acquisition, 600))))
                .isInstanceOf(LockUnavailableException.class);
    }

    private static boolean isServedAtOnce(LockBackend backend, String name) {
        for (int i = 0; i < 20; i++) {
            AcquisitionId free = BackendDriver.newAcquisition(name);
            try {
                AcquireResult answer = BackendDriver.answer(backend.tryAcquire(request(free, 2_000)));
                assertThat(answer).isInstanceOf(AcquireResult.Granted.class);
                BackendDriver.release(backend, ((AcquireResult.Granted) answer).grant());
            } catch (LockUnavailableException e) {
                return false;
            }
        }
        return true;
    }

    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB", "MARIADB_BY_MYSQL_DRIVER"})
    void rowIsBlocked_otherNamesAreServed(SharedDb shared) throws Exception {
        Db db = shared.db();
        String table = SharedDb.newTable();
        try (HikariDataSource pool = db.pool(config -> config.setMaximumPoolSize(12))) {
            LockBackend backend = JdbcInternals.backend(
                    JdbcLocks.builder(pool).table(table).createTable(true).notifications(false),
                    LockClientOptions.defaults());
            BackendDriver.release(backend, BackendDriver.acquire(backend, "blocked"));
            BackendDriver.release(backend, BackendDriver.acquire(backend, "free"));
            try (Connection other = db.connect();
                    var statement = other.createStatement()) {
                other.setAutoCommit(false);
                statement
                        .executeQuery("SELECT 1 FROM " + table + " WHERE token = 1 AND name = "
                                + (db.dialect == DatabaseDialects.POSTGRESQL ? "'blocked'::bytea" : "'blocked'")
                                + " FOR UPDATE")
                        .close();
                for (int i = 0; i < 8; i++) {
                    AcquisitionId late = BackendDriver.newAcquisition("blocked");
                    assertUnanswered(backend, late);
                    try {
                        BackendDriver.answer(backend.abandon(late, 50));
                    } catch (LockUnavailableException e) {
                        // The row is locked.
                    }
                }
                boolean served = false;
                for (int tries = 0; tries < 3 && !served; tries++) { // a pause of the machine may spoil a try
                    served = isServedAtOnce(backend, "free/" + tries);
                }
                assertThat(served).as("20 of another name, one after the other").isTrue();
                other.rollback();
            }
            backend.close();
        }
    }

    /** The first attempt had no answer, and the first release has failed: nothing but its repetition removes the row. */
    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB", "H2"})
    void releaseFailed_repeated_findsItsRow(SharedDb shared) throws Exception {
        Db db = shared.db();
        String table = SharedDb.newTable();
        AtomicBoolean failing = new AtomicBoolean();
        try (HikariDataSource pool = db.pool(config -> {})) {
            LockBackend backend = JdbcInternals.backend(
                    JdbcLocks.builder(failingOnce(pool, "SET owner = NULL", failing))
                            .table(table)
                            .createTable(true)
                            .notifications(false),
                    LockClientOptions.defaults());
            BackendDriver.release(backend, BackendDriver.acquire(backend, "released"));
            AcquisitionId acquisition = BackendDriver.newAcquisition("released");
            try (Connection other = db.connect();
                    var statement = other.createStatement()) {
                other.setAutoCommit(false);
                statement.executeQuery("SELECT 1 FROM " + table + " FOR UPDATE").close();
                assertUnanswered(backend, acquisition);
                other.rollback();
            }
            AcquireResult answer = await().atMost(PATIENCE)
                    .ignoreExceptionsInstanceOf(LockUnavailableException.class)
                    .until(
                            () -> BackendDriver.answer(backend.tryAcquire(request(acquisition, 5_000))),
                            AcquireResult.Granted.class::isInstance);
            Grant grant = ((AcquireResult.Granted) answer).grant();

            failing.set(true);
            assertThatThrownBy(() -> BackendDriver.release(backend, grant))
                    .isInstanceOf(LockUnavailableException.class);
            String held = "SELECT count(*) FROM " + table + " WHERE owner = '" + acquisition.owner() + "'";
            long untilNanos = System.nanoTime() + TimeUnit.SECONDS.toNanos(1);
            while (db.number(held) == 1 && System.nanoTime() - untilNanos < 0) {
                Thread.onSpinWait();
            }
            assertThat(BackendDriver.release(backend, grant)).isEqualTo(ReleaseResult.RELEASED);
            backend.close();
        }
    }

    /** A data source that says nothing about itself, and whose connection breaks before one statement. */
    private static DataSource failingOnce(DataSource target, String sql, AtomicBoolean failing) {
        return (DataSource) wrapped(DataSource.class, target, sql, failing);
    }

    private static Object wrapped(Class<?> type, Object target, String sql, AtomicBoolean failing) {
        return Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> {
            if (method.getName().equals("isWrapperFor")) {
                return false;
            }
            if (method.getName().equals("prepareStatement")
                    && String.valueOf(arguments[0]).contains(sql)
                    && failing.compareAndSet(true, false)) {
                throw new SQLNonTransientConnectionException("the connection is broken", "08006");
            }
            try {
                Object result = method.invoke(target, arguments);
                return result instanceof Connection ? wrapped(Connection.class, result, sql, failing) : result;
            } catch (InvocationTargetException e) {
                throw e.getCause() instanceof SQLException cause ? cause : e.getCause();
            }
        });
    }

    /** Whatever a driver or a pool throws, the next pass runs. */
    @Test
    void round_fails_theNextOneTriesAgain() {
        RecordedDb db = new RecordedDb(DatabaseDialects.H2);
        TableName table = LockTable.VERSION.defaultTable();
        List<Throwable> failures = List.of(
                new LockUnavailableException("no"),
                new IllegalStateException("a driver's fault"),
                new SQLException("broken", "08006"),
                new OutOfMemoryError("on purpose"));
        Set<Thread> threads = ConcurrentHashMap.newKeySet();
        List<AcquisitionId> acquisitions = new ArrayList<>();
        for (int i = 0; i < failures.size(); i++) {
            acquisitions.add(BackendDriver.newAcquisition("late/" + i));
        }
        try (Database database = db.open(JdbcStrategy.VERSION)) {
            Orphans orphans = new Orphans(
                    database,
                    new ExpiryStatements(DatabaseDialects.H2, table, DatabaseDialects.H2.countedTokens(), null));
            db.on("SET owner = NULL", call -> {
                threads.add(Thread.currentThread());
                int number = acquisitions.stream()
                        .map(AcquisitionId::name)
                        .toList()
                        .indexOf(call.parameters().get(0));
                if (db.calls().stream()
                                .filter(each -> each.parameters().equals(call.parameters()))
                                .count()
                        > 1) {
                    return null;
                }
                if (failures.get(number) instanceof SQLException broken) {
                    throw broken;
                }
                if (failures.get(number) instanceof Error noMemory) {
                    throw noMemory;
                }
                throw (RuntimeException) failures.get(number);
            });

            acquisitions.forEach(orphans::remove);

            await().atMost(PATIENCE)
                    .pollInterval(Duration.ofMillis(5))
                    .until(() -> acquisitions.stream().allMatch(each -> rounds(db, each) > 1));
            assertThat(db.calls()).allMatch(call -> call.networkTimeoutMillis() <= 3_000);
            assertThat(threads)
                    .as("one at a time, whatever the name")
                    .singleElement()
                    .satisfies(thread -> {
                        assertThat(thread.getName()).startsWith("holdfast-jdbc-orphans-");
                        assertThat(thread.isDaemon()).isTrue();
                    });
        }
    }

    /** There is room for one, whose time is over some day. */
    @Test
    void placeOfAnOrphan_isGivenToTheNext() {
        RecordedDb db = new RecordedDb(DatabaseDialects.H2);
        TableName table = LockTable.VERSION.defaultTable();
        AcquisitionId next = BackendDriver.newAcquisition("late/next");
        try (Database database = db.open(JdbcStrategy.VERSION)) {
            Orphans orphans = new Orphans(
                    database,
                    new ExpiryStatements(DatabaseDialects.H2, table, DatabaseDialects.H2.countedTokens(), null),
                    1,
                    TimeUnit.MILLISECONDS.toNanos(300));
            orphans.remove(BackendDriver.newAcquisition("late/first"));

            await().atMost(PATIENCE).pollInterval(Duration.ofMillis(5)).until(() -> {
                orphans.remove(next);
                return rounds(db, next) > 0;
            });
        }
    }

    private static long rounds(RecordedDb db, AcquisitionId acquisition) {
        List<Object> parameters =
                List.of(acquisition.name(), acquisition.owner().toString());
        return db.calls().stream()
                .filter(call -> call.parameters().equals(parameters))
                .count();
    }
}
