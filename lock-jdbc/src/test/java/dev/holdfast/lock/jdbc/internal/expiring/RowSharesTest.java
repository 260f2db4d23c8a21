package dev.holdfast.lock.jdbc.internal.expiring;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.LEASE_MILLIS;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.WAIT_MILLIS;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.answer;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.changeLimit;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.renew;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.jdbc.JdbcInternals;
import dev.holdfast.lock.jdbc.JdbcLocks;
import dev.holdfast.lock.jdbc.SharedDb;
import dev.holdfast.lock.jdbc.internal.dialect.Db;
import dev.holdfast.lock.jdbc.internal.sql.RowChange;
import dev.holdfast.lock.jdbc.internal.sql.TableName;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import javax.sql.DataSource;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The marks of waiters for shares and permits, and changes of a row that has changed since it was read. */
final class RowSharesTest {
    private static final Demand ONE_OF_ONE = new Demand.Permits(1, 1);
    private static final Demand ONE_OF_TWO = new Demand.Permits(1, 2);

    private final String table = SharedDb.newTable();

    private LockBackend backend(DataSource pool) {
        return JdbcInternals.backend(
                JdbcLocks.builder(pool).table(table).createTable(true), LockClientOptions.defaults());
    }

    private static BackendDriver driver(LockBackend backend, String name, Demand demand) {
        return BackendDriver.of(backend, name, demand, LEASE_MILLIS);
    }

    /** Whether the mark was written is unknown; the abandonment removes it, and the next attempt finds room. */
    @ParameterizedTest
    @EnumSource
    void mark_madeWithoutAnAnswer_endsWithTheAbandonment(SharedDb shared) throws Exception {
        AtomicBoolean failing = new AtomicBoolean();
        try (HikariDataSource pool = shared.db().pool(config -> {});
                LockBackend backend =
                        backend(failingBehind(pool, "SET expires = CASE", () -> failing.compareAndSet(true, false)))) {
            Grant reader = driver(backend, "marked", Demand.SHARED).acquire();
            BackendDriver writer = driver(backend, "marked", Demand.EXCLUSIVE);
            failing.set(true);
            assertThatThrownBy(() -> answer(writer.send(WAIT_MILLIS))).isInstanceOf(LockUnavailableException.class);
            assertThat(failing).isFalse();

            writer.abandon();

            release(backend, driver(backend, "marked", Demand.SHARED).acquire());
            release(backend, reader);
        }
    }

    /** A mark for permits does not block an exclusive lock, so there may be one while that is held. */
    @ParameterizedTest
    @EnumSource
    void mark_abandonedWhileALockIsHeld_leavesTheLockAsItIs(SharedDb shared) throws Exception {
        try (HikariDataSource pool = shared.db().pool(config -> {});
                LockBackend backend = backend(pool)) {
            Grant permit = driver(backend, "marked", ONE_OF_ONE).acquire();
            BackendDriver waiter = driver(backend, "marked", ONE_OF_ONE);
            waiter.queueUp();
            release(backend, permit);
            Grant lock = driver(backend, "marked", Demand.EXCLUSIVE).acquire();

            waiter.abandon();

            assertThat(renew(backend, lock)).isInstanceOf(RenewResult.Renewed.class);
            release(backend, lock);
        }
    }

    @ParameterizedTest
    @EnumSource
    void mark_ofOneThatIsRefusedForItsLimit_isGone(SharedDb shared) throws Exception {
        try (HikariDataSource pool = shared.db().pool(config -> {});
                LockBackend backend = backend(pool)) {
            Grant permit = driver(backend, "marked", ONE_OF_ONE).acquire();
            BackendDriver waiter = driver(backend, "marked", ONE_OF_ONE);
            waiter.queueUp();
            assertThat(changeLimit(backend, "marked", 1, 2)).isEqualTo(2);

            assertThat(waiter.tryAcquire(WAIT_MILLIS)).isEqualTo(new AcquireResult.OtherLimit(2));

            release(backend, driver(backend, "marked", ONE_OF_TWO).acquire());
            release(backend, permit);
        }
    }

    /** The row says when a lone reader ends; a second reader writes that expiry into its share, and must not write an expired one. */
    @ParameterizedTest
    @EnumSource
    void change_theLoneReaderWasRenewedMeanwhile_changesNothing(SharedDb shared) throws Exception {
        Db db = shared.db();
        try (HikariDataSource pool = db.pool(config -> {});
                LockBackend backend = backend(pool);
                Connection connection = db.connect()) {
            driver(backend, "renewed", Demand.SHARED).acquire();
            RowStateRepository rows = new RowStateRepository(db.dialect, new TableName(table));
            RowState read = rows.read(connection, "renewed");
            db.execute("UPDATE " + table + " SET expires = " + db.dialect.nowPlusMillis("" + 2 * LEASE_MILLIS));

            RowState next = read.held(read.shared(), read.token() + 1);

            assertThat(rows.change(connection, read, next, false)).isEqualTo(RowChange.NONE);
            RowState again = rows.read(connection, "renewed");
            assertThat(rows.change(connection, again, again.held(again.shared(), again.token() + 1), false))
                    .isEqualTo(RowChange.DONE);
        }
    }

    /** Each column that was read is compared, and no row of another name is changed. */
    @ParameterizedTest
    @EnumSource
    void change_anyColumnIsAnotherOneMeanwhile_changesNothing(SharedDb shared) throws Exception {
        Db db = shared.db();
        try (HikariDataSource pool = db.pool(config -> {});
                LockBackend backend = backend(pool);
                Connection connection = db.connect()) {
            driver(backend, "changed", ONE_OF_TWO).acquire();
            driver(backend, "other", ONE_OF_TWO).acquire();
            RowStateRepository rows = new RowStateRepository(db.dialect, new TableName(table));
            String tokens = "SELECT SUM(token) FROM " + table;
            for (String change : List.of(
                    "owner = NULL",
                    "token = token + 1",
                    "shares = NULL",
                    "expires = " + db.dialect.nowPlusMillis("" + 2 * LEASE_MILLIS))) {
                RowState read = rows.read(connection, "changed");
                assertThat(db.execute("UPDATE " + table + " SET " + change))
                        .as(change)
                        .isEqualTo(2);
                long before = db.number(tokens);

                assertThat(rows.change(connection, read, read.held(read.shared(), read.token() + 1), false))
                        .as("a change of the row as it was before %s", change)
                        .isEqualTo(RowChange.NONE);
                assertThat(db.number(tokens)).as("after %s", change).isEqualTo(before);
            }
            RowState read = rows.read(connection, "changed");
            long before = db.number(tokens);
            assertThat(rows.change(connection, read, read.held(read.shared(), read.token() + 1), false))
                    .isEqualTo(RowChange.DONE);
            assertThat(db.number(tokens)).as("one row").isEqualTo(before + 1);
        }
    }

    /** Two find no row, and both insert it. */
    @ParameterizedTest
    @EnumSource
    void change_theRowWasInsertedMeanwhile_changesNothing(SharedDb shared) throws Exception {
        Db db = shared.db();
        try (HikariDataSource pool = db.pool(config -> {});
                LockBackend backend = backend(pool);
                Connection connection = db.connect()) {
            RowStateRepository rows = new RowStateRepository(db.dialect, new TableName(table));
            RowState none = rows.read(connection, "new");
            Grant first = driver(backend, "new", ONE_OF_TWO).acquire();

            assertThat(rows.change(connection, none, none.marked(none.shared().limitedTo(3)), true))
                    .isEqualTo(RowChange.NONE);
            assertThat(changeLimit(backend, "new", 2, 2)).isEqualTo(2);
            release(backend, first);
        }
    }

    /** One statement after the other, each is committed by itself; in a transaction, a failure takes back those before it. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void renew_cutShort_countsWhatIsCommitted(boolean autoCommit) throws Exception {
        Db db = SharedDb.H2.db();
        try (HikariDataSource pool = db.pool(config -> {});
                LockBackend backend = backend(pool);
                Connection connection = db.connect()) {
            List<Grant> grants = List.of(
                    driver(backend, "first", ONE_OF_TWO).acquire(),
                    driver(backend, "second", ONE_OF_TWO).acquire());
            RowShares shares = new RowShares(db.dialect, new TableName(table), 1_500);
            Set<OwnerId> renewed = new HashSet<>();
            Set<OwnerId> unknown = new HashSet<>();
            connection.setAutoCommit(autoCommit);
            Connection broken = failingFromTheThirdOn(connection);
            if (autoCommit) {
                shares.renew(broken, grants, renewed, unknown);
                assertThat(renewed).containsExactly(grants.get(0).acquisition().owner());
                assertThat(unknown).containsExactly(grants.get(1).acquisition().owner());
            } else {
                assertThatThrownBy(() -> shares.renew(broken, grants, renewed, unknown))
                        .isInstanceOf(SQLException.class);
            }
        }
    }

    /** Those that it has not come to are neither renewed nor lost, and the next renewal has them. */
    @ParameterizedTest
    @EnumSource
    void renewal_cutShort_theRestIsUnknown(SharedDb shared) throws Exception {
        AtomicInteger changes = new AtomicInteger(Integer.MIN_VALUE);
        try (HikariDataSource pool = shared.db().pool(config -> {});
                LockBackend backend =
                        backend(failingBehind(pool, "SET expires = CASE", () -> changes.incrementAndGet() == 2))) {
            List<Grant> grants = List.of(
                    driver(backend, "one", ONE_OF_TWO).acquire(),
                    driver(backend, "two", ONE_OF_TWO).acquire(),
                    driver(backend, "three", ONE_OF_TWO).acquire());
            changes.set(0);

            RenewResult notCome =
                    new RenewResult.Unknown("its row is locked, or the renewal was cut short before it", null);
            assertThat(renew(backend, grants)).containsExactly(new RenewResult.Renewed(LEASE_MILLIS), notCome, notCome);

            assertThat(renew(backend, grants)).hasOnlyElementsOfType(RenewResult.Renewed.class);
            grants.forEach(grant -> release(backend, grant));
        }
    }

    /** Of a renewal that reads and changes a row each. */
    private static Connection failingFromTheThirdOn(Connection target) {
        AtomicInteger prepared = new AtomicInteger();
        return (Connection) Proxy.newProxyInstance(
                Connection.class.getClassLoader(), new Class<?>[] {Connection.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("prepareStatement") && prepared.incrementAndGet() > 2) {
                        throw new SQLNonTransientConnectionException("the connection is broken", "08006");
                    }
                    return method.invoke(target, arguments);
                });
    }

    /** A data source that says nothing about itself, and one of whose statements, when it is done, has no answer. */
    private static DataSource failingBehind(DataSource target, String sql, BooleanSupplier failing) {
        return (DataSource) wrapped(DataSource.class, target, sql, false, failing);
    }

    private static Object wrapped(Class<?> type, Object target, String sql, boolean chosen, BooleanSupplier failing) {
        return Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> {
            if (method.getName().equals("isWrapperFor")) {
                return false;
            }
            try {
                Object result = method.invoke(target, arguments);
                if (chosen && method.getName().startsWith("execute") && failing.getAsBoolean()) {
                    throw new SQLNonTransientConnectionException("the connection is broken", "08006");
                }
                if (result instanceof PreparedStatement) {
                    boolean isIt = String.valueOf(arguments[0]).contains(sql);
                    return wrapped(PreparedStatement.class, result, sql, isIt, failing);
                }
                return result instanceof Connection ? wrapped(Connection.class, result, sql, false, failing) : result;
            } catch (InvocationTargetException e) {
                throw e.getCause();
            }
        });
    }
}
