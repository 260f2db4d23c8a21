package dev.holdfast.lock.jdbc.internal.rowlock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.jdbc.internal.connection.Connections;
import dev.holdfast.lock.jdbc.internal.connection.RecordedDb;
import dev.holdfast.lock.jdbc.internal.connection.RecordedDb.Answer;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialect;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialects;
import dev.holdfast.lock.jdbc.internal.dialect.LockTable;
import dev.holdfast.lock.jdbc.internal.dialect.Product;
import dev.holdfast.lock.jdbc.internal.rowlock.RowSession.Outcome;
import dev.holdfast.lock.jdbc.internal.sql.TableName;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** What is done with a connection that keeps a row locked: how it is taken, bounded, asked, and given back as it came. */
final class RowSessionTest {
    private static final TableName TABLE = LockTable.ROW_LOCK.defaultTable();
    private static final byte[] NAME = "orders/42".getBytes(StandardCharsets.UTF_8);
    private static final String LIMITS = "SET %sSESSION wait_timeout = %d, SESSION innodb_lock_wait_timeout = 45";
    private static final String NOTED =
            "@holdfast_wait = @@session.wait_timeout, @holdfast_lock = @@session.innodb_lock_wait_timeout, ";

    private static long in(long millis) {
        return System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
    }

    private static RowSession open(RecordedDb db, DatabaseDialect dialect) throws SQLException {
        return RowSession.open(
                Connections.shared(db.dataSource(), 5_000), dialect, dialect.rowStatements(TABLE), in(40_000));
    }

    /** Without what the connection is asked to do between: of the steps, those that change it. */
    static Stream<Arguments> defaults() {
        int read = Connection.TRANSACTION_READ_COMMITTED;
        int repeat = Connection.TRANSACTION_REPEATABLE_READ;
        return Stream.of(
                Arguments.of(DatabaseDialects.POSTGRESQL, false, repeat, false, List.of(), List.of()),
                Arguments.of(
                        DatabaseDialects.POSTGRESQL,
                        true,
                        repeat,
                        true,
                        List.of("1 setReadOnly false", "1 setAutoCommit false"),
                        List.of("1 setAutoCommit true", "1 setReadOnly true")),
                Arguments.of(DatabaseDialects.MARIADB, false, read, false, List.of(), List.of()),
                Arguments.of(
                        DatabaseDialects.MYSQL,
                        true,
                        repeat,
                        true,
                        List.of("1 setReadOnly false", "1 setTransactionIsolation 2", "1 setAutoCommit false"),
                        List.of("1 setAutoCommit true", "1 setTransactionIsolation 4", "1 setReadOnly true")));
    }

    @ParameterizedTest
    @MethodSource("defaults")
    void connection_isTakenOutOfItsDefaults_andGivenBackAsItCame(
            DatabaseDialect dialect,
            boolean readOnly,
            int isolation,
            boolean autoCommit,
            List<String> taken,
            List<String> back)
            throws Exception {
        RecordedDb db = new RecordedDb(dialect);
        db.readOnly = readOnly;
        db.isolation = isolation;
        db.autoCommit = autoCommit;
        db.networkTimeoutMillis = 99_999;
        List<Integer> restored = new ArrayList<>();
        db.before = (connection, method) -> {
            long untilNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(2);
            while (!method.equals("setNetworkTimeout") && System.nanoTime() - untilNanos < 0) {
                Thread.onSpinWait();
            }
        };

        RowSession session = open(db, dialect);

        assertThat(db.events()).isEqualTo(taken);
        assertThat(db.timeouts())
                .as("each step has what is left")
                .allMatch(millis -> millis <= 40_000)
                .isSortedAccordingTo(Comparator.reverseOrder())
                .doesNotHaveDuplicates();
        db.forget();
        session.giveBack(in(30_000));

        List<String> expected = new ArrayList<>(List.of(Product.isInnoDb(dialect) ? "1: ROLLBACK" : "1 rollback"));
        expected.addAll(back);
        expected.add("1 close");
        assertThat(db.events()).isEqualTo(expected);
        restored.addAll(db.timeouts());
        assertThat(restored.remove(restored.size() - 1))
                .as("the pool's own time-out at the end")
                .isEqualTo(99_999);
        assertThat(restored)
                .allMatch(millis -> millis <= 30_000)
                .isSortedAccordingTo(Comparator.reverseOrder())
                .doesNotHaveDuplicates();
    }

    @Test
    void open_connectionRefusesItsSettings_isEnded() {
        RecordedDb db = new RecordedDb(DatabaseDialects.POSTGRESQL);
        db.before = (connection, method) -> {
            if (method.equals("setAutoCommit")) {
                throw new SQLException("broken", "08006");
            }
        };

        assertThatThrownBy(() -> open(db, DatabaseDialects.POSTGRESQL)).hasMessage("broken");

        assertThat(db.events()).containsExactly("1 abort", "1 close");
    }

    /** It is ended instead: nothing waits for a server any more. */
    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MYSQL"})
    void giveBack_noTimeLeft_orItFails_endsTheConnection(Product product) throws Exception {
        DatabaseDialect dialect = product.dialect();
        RecordedDb late = new RecordedDb(dialect);
        RowSession session = open(late, dialect);
        late.forget();
        session.giveBack(System.nanoTime());
        assertThat(late.events()).containsExactly("1 abort", "1 close");

        RecordedDb broken = new RecordedDb(dialect);
        RowSession other = open(broken, dialect);
        broken.forget();
        broken.before = (connection, method) -> {
            if (method.equals("setAutoCommit")) {
                throw new SQLException("broken", "08006");
            }
        };
        other.giveBack(in(30_000));
        assertThat(broken.events()).endsWith("1 abort", "1 close").hasSize(3);
    }

    /** HikariCP warns of a connection that has ended, and a log may throw. Connections that come after it are given back as well. */
    @Test
    void giveBack_itsPoolsLogThrows_endsTheConnection() throws Exception {
        RecordedDb db = new RecordedDb(DatabaseDialects.POSTGRESQL);
        RowSession session = open(db, DatabaseDialects.POSTGRESQL);
        db.forget();
        db.before = (connection, method) -> {
            if (method.equals("setAutoCommit")) {
                throw new IllegalStateException("the log is full");
            }
        };

        session.giveBack(in(30_000));

        assertThat(db.events()).endsWith("1 abort", "1 close");
    }

    static Stream<Arguments> outcomes() {
        return Stream.of(
                Arguments.of(Answer.row(77L, 5L, true), Outcome.LOCKED, OptionalLong.of(5)),
                Arguments.of(Answer.row(77L, null, true), Outcome.LOCKED, OptionalLong.empty()),
                Arguments.of(Answer.row(null, 5L, true), Outcome.BUSY, OptionalLong.empty()),
                Arguments.of(Answer.row(null, 5L, false), Outcome.NO_ROW, OptionalLong.empty()),
                Arguments.of(Answer.none(), Outcome.NO_ROW, OptionalLong.empty()));
    }

    @ParameterizedTest
    @MethodSource("outcomes")
    void tryLock_tellsWhatTheRowSays(Answer answer, Outcome expected, OptionalLong seen) throws Exception {
        RecordedDb db = new RecordedDb(DatabaseDialects.POSTGRESQL);
        RowSession session = open(db, DatabaseDialects.POSTGRESQL);
        db.script = call -> answer;

        assertThat(session.tryLock(NAME, 60_000, 700)).isEqualTo(expected);

        assertThat(session.seenToken()).isEqualTo(seen);
        assertThat(session.id()).isEqualTo(expected == Outcome.LOCKED ? 77 : 0);
        assertThat(db.calls()).hasSize(1);
        assertThat(db.calls().get(0).parameters()).containsExactly("60000 ms", "orders/42", "orders/42", "orders/42");
        assertThat(db.calls().get(0).networkTimeoutMillis()).isEqualTo(700);
    }

    static Stream<Arguments> failures() {
        return Stream.of(
                Arguments.of(
                        DatabaseDialects.POSTGRESQL,
                        new SQLException("locked", "55P03"),
                        List.of("1 rollback", "1: SET LOCAL statement_timeout = 0")),
                Arguments.of(DatabaseDialects.MARIADB, new SQLException("nowait", "HY000", 1205), List.of()),
                Arguments.of(DatabaseDialects.MYSQL, new SQLException("nowait", "HY000", 3572), List.of()));
    }

    /** PostgreSQL has aborted the transaction; the others go on with it. */
    @ParameterizedTest
    @MethodSource("failures")
    void tryLock_inConflict_isBusy_whatElseFails_isThrown(
            DatabaseDialect dialect, SQLException conflict, List<String> then) throws Exception {
        RecordedDb db = new RecordedDb(dialect);
        RowSession session = open(db, dialect);
        AtomicReference<SQLException> failure = new AtomicReference<>(conflict);
        db.script = call -> {
            if (call.has("FOR UPDATE")) {
                db.forget();
                throw failure.get();
            }
            return null;
        };

        assertThat(session.tryLock(NAME, 60_000, 700)).isEqualTo(Outcome.BUSY);
        assertThat(db.events()).isEqualTo(then);

        failure.set(new SQLException("broken", "08006"));
        assertThatThrownBy(() -> session.tryLock(NAME, 60_000, 700)).hasMessage("broken");
        assertThat(db.events()).isEmpty();
    }

    /** What the session had is noted once: a second time, it would be the limits of the lock before. */
    @ParameterizedTest
    @EnumSource(names = {"MARIADB", "MYSQL"})
    void limits_areSetWhereTheyChange_andPutBackOnce(Product product) throws Exception {
        DatabaseDialect dialect = product.dialect();
        RecordedDb db = new RecordedDb(dialect);
        RowSession session = open(db, dialect);
        db.forget();

        for (long lease : new long[] {60_000, 59_001, 1_001, 1_000}) {
            session.tryLock(NAME, lease, 700);
        }

        assertThat(db.calls("SET ").stream().map(RecordedDb.Call::sql))
                .containsExactly(LIMITS.formatted(NOTED, 60), LIMITS.formatted("", 2), LIMITS.formatted("", 1));
        assertThat(db.calls("FOR UPDATE NOWAIT"))
                .hasSize(4)
                .allSatisfy(call -> assertThat(call.parameters()).containsExactly("orders/42"));
        assertThat(db.events().get(0)).as("before it locks").startsWith("1: SET ");
        db.forget();
        session.giveBack(in(30_000));
        assertThat(db.events())
                .startsWith(
                        "1: SET SESSION wait_timeout = @holdfast_wait, SESSION innodb_lock_wait_timeout = @holdfast_lock",
                        "1: ROLLBACK");
    }

    /** Longer than a slice of the wait, so that a dead connection is found out by the client, too. */
    @Test
    void awaitLock_waitsForFourSlices_andIsAskedAgainWhenASliceIsOver() throws Exception {
        RecordedDb postgres = new RecordedDb(DatabaseDialects.POSTGRESQL);
        RowSession session = open(postgres, DatabaseDialects.POSTGRESQL);
        postgres.script = call -> Answer.row(9L, null, true);
        assertThat(session.awaitLock(NAME, 1_500)).isEqualTo(Outcome.LOCKED);
        assertThat(session.seenToken()).as("of the moment before the wait").isEmpty();
        assertThat(postgres.calls().get(0).parameters()).containsExactly("1500 ms", "orders/42");
        assertThat(postgres.calls().get(0).sql()).contains("FOR UPDATE OF held");
        assertThat(postgres.calls().get(0).networkTimeoutMillis()).isEqualTo(60_000);

        RecordedDb mysql = new RecordedDb(DatabaseDialects.MYSQL);
        RowSession other = open(mysql, DatabaseDialects.MYSQL);
        mysql.script = call -> {
            throw new SQLException("Lock wait timeout exceeded", "40001", 1205);
        };
        assertThat(other.awaitLock(NAME, 1_500)).isEqualTo(Outcome.BUSY);
        assertThat(mysql.calls().get(0).parameters()).containsExactly("orders/42");
        assertThat(mysql.calls().get(0).sql()).endsWith("part = 0 FOR UPDATE");
    }

    /** One that comes outside of the wait would hit another lock's statement. */
    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB"})
    void cancelWait_duringTheWaitAlone_byWhatTheDriverRepeats(Product product) throws Exception {
        DatabaseDialect dialect = product.dialect();
        for (boolean ofPostgres : new boolean[] {true, false}) {
            RecordedDb db = new RecordedDb(dialect);
            db.ofPostgres = ofPostgres;
            RowSession session = open(db, dialect);
            db.forget();
            session.cancelWait();
            assertThat(db.events()).as("before").isEmpty();
            db.script = call -> {
                session.cancelWait();
                return Answer.row(9L, null, true);
            };

            session.awaitLock(NAME, 60_000);

            assertThat(db.events())
                    .endsWith(ofPostgres && dialect == DatabaseDialects.POSTGRESQL ? "1 cancelQuery" : "1 cancel")
                    .hasSize(2);
            db.forget();
            session.cancelWait();
            assertThat(db.events()).as("behind").isEmpty();
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB", "MYSQL"})
    void heartbeatAndUnlock_areOneRoundTripEach_withinTheirTime_andCountAsUse(Product product) throws Exception {
        DatabaseDialect dialect = product.dialect();
        RecordedDb db = new RecordedDb(dialect);
        RowSession session = open(db, dialect);
        db.forget();

        long beforeNanos = System.nanoTime();
        session.heartbeat(321);
        assertThat(session.usedNanos() - beforeNanos).isNotNegative();
        long afterNanos = System.nanoTime();
        session.unlock(654);
        assertThat(session.usedNanos() - afterNanos).isNotNegative();

        assertThat(db.events())
                .containsExactly(
                        "1: SELECT " + dialect.sessionId(), Product.isInnoDb(dialect) ? "1: ROLLBACK" : "1 rollback");
        assertThat(db.timeouts()).containsExactly(321, 654);
    }

    @Test
    void liftReadOnly_beginsATransactionThatMayWrite() throws Exception {
        RecordedDb db = new RecordedDb(DatabaseDialects.POSTGRESQL);
        RowSession session = open(db, DatabaseDialects.POSTGRESQL);
        db.forget();

        session.liftReadOnly(321);

        assertThat(db.events())
                .filteredOn(event -> !event.contains("pg_catalog.pg_settings"))
                .containsExactly(
                        "1 rollback", "1 setAutoCommit true", "1 setAutoCommit false", "1: SET TRANSACTION READ WRITE");
        assertThat(db.events())
                .filteredOn(event -> event.contains("pg_catalog.pg_settings"))
                .hasSize(1);
        assertThat(db.timeouts()).containsOnly(321);
    }
}
