package dev.holdfast.lock.jdbc.internal.dialect;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.jdbc.internal.connection.RecordedDb;
import dev.holdfast.lock.jdbc.internal.connection.RecordedDb.Answer;
import dev.holdfast.lock.jdbc.internal.connection.TransactionRunner;
import dev.holdfast.lock.jdbc.internal.sql.JdbcFailure;
import dev.holdfast.lock.jdbc.internal.sql.SqlWork;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What is done with a borrowed connection around the work, step by step, and that it goes back as it came. */
final class RunnerStepsTest {
    private static final String WORK = "INSERT INTO work VALUES (1)";
    private static final String LIFT =
            "1: SET TRANSACTION READ WRITE; SET LOCAL idle_in_transaction_session_timeout = N";

    /** Whose setting it is. */
    private static final String LOOK = "1: looks for the setting";

    private static long in(long millis) {
        return System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
    }

    private static boolean work(Connection connection) throws SQLException {
        return Schema.execute(connection, WORK);
    }

    private static SQLException readOnly() {
        return new SQLException("cannot execute INSERT in a read-only transaction", "25006");
    }

    static Stream<Arguments> lifted() {
        return Stream.of(
                Arguments.of(
                        DatabaseDialects.POSTGRESQL,
                        true,
                        true,
                        List.of(
                                LOOK,
                                "1 setAutoCommit false",
                                "1 setReadOnly false",
                                LIFT,
                                "1: " + WORK,
                                "1 commit",
                                "1 setReadOnly true",
                                "1 setAutoCommit true")),
                Arguments.of(
                        DatabaseDialects.POSTGRESQL,
                        false,
                        false,
                        List.of("1 setAutoCommit true", LOOK, "1 setAutoCommit false", LIFT, "1: " + WORK, "1 commit")),
                Arguments.of(
                        DatabaseDialects.MARIADB,
                        true,
                        true,
                        List.of(
                                "1 setReadOnly false",
                                "1: SET @holdfast_read_only = @@session.tx_read_only, SESSION tx_read_only = @@global.tx_read_only",
                                "1: " + WORK,
                                "1: SET SESSION tx_read_only = @holdfast_read_only",
                                "1 setReadOnly true")),
                Arguments.of(
                        DatabaseDialects.MYSQL,
                        false,
                        false,
                        List.of(
                                "1 setAutoCommit true",
                                "1: SET @holdfast_read_only = @@session.transaction_read_only, SESSION"
                                        + " transaction_read_only = @@global.transaction_read_only",
                                "1: " + WORK,
                                "1: SET SESSION transaction_read_only = @holdfast_read_only",
                                "1 setAutoCommit false")),
                Arguments.of(
                        DatabaseDialects.H2,
                        true,
                        true,
                        List.of("1 setReadOnly false", "1: " + WORK, "1 setReadOnly true")));
    }

    private static List<String> steps(RecordedDb db) {
        return db.events().stream()
                .map(step -> step.contains("pg_settings") ? LOOK : step)
                .map(step -> step.replaceAll("session_timeout = \\d+$", "session_timeout = N"))
                .toList();
    }

    /** It is found by the first statement that is refused, and lifted from then on. */
    @ParameterizedTest
    @MethodSource("lifted")
    void readOnlyByDefault_isLiftedForTheWork_andPutBack(
            DatabaseDialect dialect, boolean readOnly, boolean autoCommit, List<String> lifted) throws Exception {
        RecordedDb db = new RecordedDb(dialect);
        db.readOnly = readOnly;
        db.autoCommit = autoCommit;
        TransactionRunner runner = new TransactionRunner(dialect);
        Connection connection = db.connection();
        AtomicReference<SQLException> failure = new AtomicReference<>(readOnly());
        db.on(WORK, call -> {
            SQLException once = failure.getAndSet(null);
            if (once != null) {
                throw once;
            }
            return null;
        });
        List<String> refused = new ArrayList<>(List.of("1: " + WORK));
        if (!autoCommit) {
            refused.add(0, "1 setAutoCommit true");
            refused.add("1 setAutoCommit false");
        }
        refused.addAll(lifted);

        assertThat(runner.run(connection, in(9_000), RunnerStepsTest::work)).isTrue();
        assertThat(steps(db)).isEqualTo(refused);
        assertThat(db.timeouts()).allMatch(millis -> millis != 1_234 && millis <= 9_000);
        assertThat(connection.getNetworkTimeout()).as("as it came").isEqualTo(1_234);

        db.forget();
        runner.run(connection, in(9_000), RunnerStepsTest::work);
        assertThat(steps(db)).isEqualTo(lifted);

        db.forget();
        failure.set(new SQLException("halfway", "58000"));
        assertThatThrownBy(() -> runner.run(connection, in(9_000), RunnerStepsTest::work))
                .hasMessage("halfway");
        assertThat(steps(db))
                .isEqualTo(lifted.stream()
                        .map(step -> step.equals("1 commit") ? "1 rollback" : step)
                        .toList());
        assertThat(connection.getNetworkTimeout()).isEqualTo(1_234);
    }

    /** A standby refuses as well, says that it lacks the feature, and may be a primary soon. */
    @Test
    void readOnlyByDefault_cannotBeLifted_isReadOnly_andNotRemembered() throws Exception {
        RecordedDb db = new RecordedDb(DatabaseDialects.POSTGRESQL);
        TransactionRunner runner = new TransactionRunner(DatabaseDialects.POSTGRESQL);
        Connection connection = db.connection();
        SQLException lacking = new SQLException("cannot set transaction read-write mode during recovery", "0A000");
        db.on(WORK, call -> {
                    throw readOnly();
                })
                .on("SET TRANSACTION", call -> {
                    throw lacking;
                });
        for (int i = 0; i < 2; i++) {
            db.forget();
            assertThatThrownBy(() -> runner.run(connection, in(9_000), RunnerStepsTest::work))
                    .hasMessage("cannot set transaction read-write mode during recovery")
                    .hasSuppressedException(lacking)
                    .satisfies(failure ->
                            assertThat(DatabaseDialects.failure(failure)).isEqualTo(JdbcFailure.READ_ONLY));
            assertThat(db.events())
                    .as("is asked as ever")
                    .startsWith("1: " + WORK)
                    .endsWith("1 rollback", "1 setAutoCommit true");
        }
        SQLException broken = new SQLException("broken", "08006");
        db.on("SET TRANSACTION", call -> {
            throw broken;
        });
        assertThatThrownBy(() -> DatabaseDialects.POSTGRESQL.makeWritable(connection, 7))
                .isSameAs(broken);
        assertThat(db.calls("SET TRANSACTION READ WRITE; SET LOCAL idle_in_transaction_session_timeout = 7"))
                .hasSize(1);
    }

    /** The server ends an idle transaction when its time is over, but not during a short pause of the client. */
    @ParameterizedTest
    @ValueSource(longs = {990, 8_000})
    void readOnlyByDefault_onPostgres_idlesForTheTimeThatIsLeft_aSecondAtLeast(long millis) throws Exception {
        RecordedDb db = new RecordedDb(DatabaseDialects.POSTGRESQL);
        AtomicInteger tries = new AtomicInteger();
        SqlWork<Boolean> work = connection -> {
            if (tries.incrementAndGet() == 1) {
                throw readOnly();
            }
            return true;
        };
        TransactionRunner runner = new TransactionRunner(DatabaseDialects.POSTGRESQL);
        runner.run(db.connection(), in(60_000), work); // learns of it

        db.forget();
        runner.run(db.connection(), in(millis), work);

        String sql = db.calls("SET TRANSACTION").get(0).sql();
        int idle = Integer.parseInt(sql.substring(sql.lastIndexOf(' ') + 1));
        assertThat(idle).isBetween(1_000, (int) Math.max(1_000, millis));
        if (millis > 1_000) {
            assertThat(idle).isGreaterThan(1_000);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"25006", "40001", "08006"})
    void failure_behindTheDeadline_isNotTriedAgain(String state) throws Exception {
        RecordedDb db = new RecordedDb(DatabaseDialects.H2);
        AtomicInteger tries = new AtomicInteger();
        assertThatThrownBy(() -> new TransactionRunner(DatabaseDialects.H2)
                        .run(db.connection(), System.nanoTime() - 1, connection -> {
                            tries.incrementAndGet();
                            throw new SQLException("refused", state);
                        }))
                .hasMessage("refused");
        assertThat(tries).hasValue(1);
    }

    @Test
    void conflict_isTriedAgain_otherFailuresAreNot() throws Exception {
        RecordedDb db = new RecordedDb(DatabaseDialects.H2);
        AtomicInteger tries = new AtomicInteger();
        SqlWork<Integer> thirdTime = connection -> {
            if (tries.incrementAndGet() < 3) {
                throw new SQLException("in the way", "40P01");
            }
            return tries.get();
        };
        assertThat(new TransactionRunner(DatabaseDialects.H2).run(db.connection(), in(9_000), thirdTime))
                .isEqualTo(3);
        tries.set(0);
        assertThatThrownBy(() -> new TransactionRunner(DatabaseDialects.H2)
                        .run(db.connection(), in(9_000), connection -> {
                            tries.incrementAndGet();
                            throw new SQLException("broken", "08006");
                        }))
                .hasMessage("broken");
        assertThat(tries).hasValue(1);
    }

    /** The failure of the work says more; and what has worked is not taken back by what comes behind it. */
    @ParameterizedTest
    @CsvSource({
        "rollback, false",
        "setReadOnly true, true",
        "setReadOnly true, false",
        "setAutoCommit true, true",
        "setAutoCommit true, false",
        "restoring the time-out, true",
        "restoring the time-out, false"
    })
    void step_behindTheWork_fails_theWorkCounts(String failing, boolean works) throws Exception {
        RecordedDb db = new RecordedDb(DatabaseDialects.POSTGRESQL);
        db.readOnly = true;
        AtomicInteger tries = new AtomicInteger();
        AtomicInteger failures = new AtomicInteger();
        db.before = (connection, method) -> {
            boolean done = works ? db.events().contains("1 commit") : tries.get() > 1;
            boolean timeout = failing.startsWith("restoring") && method.equals("setNetworkTimeout");
            if (done && (timeout || failing.startsWith(method))) {
                failures.incrementAndGet();
                throw new SQLException("broken", "08006");
            }
        };
        SqlWork<String> work = connection -> {
            if (tries.incrementAndGet() == 1) {
                throw readOnly();
            }
            if (!works) {
                throw new SQLException("halfway", "58000");
            }
            return "done";
        };
        TransactionRunner runner = new TransactionRunner(DatabaseDialects.POSTGRESQL);
        if (works) {
            assertThat(runner.run(db.connection(), in(9_000), work)).isEqualTo("done");
        } else {
            assertThatThrownBy(() -> runner.run(db.connection(), in(9_000), work))
                    .hasMessage("halfway");
        }
        assertThat(failures.get()).as("failures of the step").isPositive();
    }

    @Test
    void millisLeft_isWhatADriverCanCount_andNeverNone() {
        assertThat(TransactionRunner.millisLeft(System.nanoTime())).isEqualTo(1);
        assertThat(TransactionRunner.millisLeft(in(-9_000))).isEqualTo(1);
        assertThat(TransactionRunner.millisLeft(in(60_000))).isBetween(1_001, 60_000);
        assertThat(TransactionRunner.millisLeft(System.nanoTime() + Long.MAX_VALUE / 2))
                .isEqualTo(Integer.MAX_VALUE);
    }

    @Test
    void answer_isTheWorks() throws Exception {
        RecordedDb db = new RecordedDb(DatabaseDialects.H2);
        db.on(WORK, call -> Answer.count(1));
        SqlWork<String> work = connection -> "answer";
        assertThat(new TransactionRunner(DatabaseDialects.H2).run(db.connection(), in(9_000), work))
                .isEqualTo("answer");
        assertThat(db.events()).as("nothing else").isEmpty();
    }
}
