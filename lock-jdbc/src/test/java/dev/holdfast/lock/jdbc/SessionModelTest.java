package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.jdbc.internal.dialect.Db;
import dev.holdfast.lock.jdbc.internal.sql.SessionKey;
import dev.holdfast.lock.jdbc.internal.sql.SessionStatements;
import dev.holdfast.lock.jdbc.internal.sql.TableName;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.testkit.support.ModelTrace;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.HashSet;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Each statement of the strategy SESSION on a real server is a row of verification/models/session.table, of which the Promela model is
 * made: three sessions in any order, which an administrator ends at times. Who has the lock and the turn is read before and after each.
 */
final class SessionModelTest {
    private static final int STEPS = 300;
    private static final String[] EVENTS = {"try", "try", "turn", "lock", "beat", "unlock", "unlock", "giveup"};

    private final Random random = new Random(54);
    private final Contender[] contenders = {new Contender(), new Contender(), new Contender()};
    private long lastToken;

    /** A session, and its number on the server; another one replaces it after its end. */
    private static final class Contender {
        Connection connection;
        long number;
        boolean over;
    }

    /** Whose session has the lock and the turn; 0 if none has it. */
    private record Seen(long lock, long turn) {}

    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB"})
    void everyStatement_isOneOfTheModel(SharedDb shared) throws Exception {
        ModelTrace trace = ModelTrace.of(Path.of("..", "verification", "models", "session.table"));
        Db db = shared.db();
        TableName table = new TableName(SharedDb.newTable());
        createTable(db, table);
        SessionStatements sql = db.dialect.sessionStatements(table);
        try (Connection reader = db.connect()) {
            SessionKey key = SessionAdministrator.key(reader, db, table, "model");
            for (int step = 0; step < STEPS; step++) {
                Contender asking = contenders[random.nextInt(contenders.length)];
                if (asking.connection == null || asking.over) {
                    open(db, sql, asking);
                }
                if (random.nextInt(12) == 0) {
                    SessionAdministrator.kill(db, asking.number);
                    asking.over = true;
                }
                Seen before = look(sql, reader, key);
                String event = EVENTS[random.nextInt(EVENTS.length)];
                if (mayBeSent(event, asking, before)) {
                    long token = lastToken;
                    String answer = answer(sql, event, asking, key);
                    trace.add(step(event, asking, before, look(sql, reader, key), answer, lastToken - token));
                }
            }
        } finally {
            for (Contender each : contenders) {
                if (each.connection != null) {
                    each.connection.close();
                }
            }
        }

        trace.assertEachStepIsOfTheModel();
        assertThat(trace.rowsNotMet()).isEmpty();
        assertThat(trace.assertChangedStepsAreRefused())
                .as("changed steps, all refused")
                .isPositive();
    }

    private static void createTable(Db db, TableName table) {
        try (HikariDataSource pool = db.pool(config -> {});
                LockBackend creating = JdbcLocks.builder(pool)
                        .strategy(JdbcStrategy.SESSION)
                        .table(table.toString())
                        .createTable(true)
                        .backend(LockClientOptions.defaults())) {
            assertThat(creating.info().name()).isEqualTo("jdbc");
        }
    }

    private static void open(Db db, SessionStatements sql, Contender contender) throws SQLException {
        if (contender.connection != null) {
            contender.connection.close();
        }
        contender.connection = db.connect();
        contender.number = sql.heartbeat(contender.connection);
        contender.over = false;
    }

    /** Sessions acquire nothing twice, the lock is for the one with the turn, and what would wait is left out. */
    private static boolean mayBeSent(String event, Contender asking, Seen found) {
        return asking.over
                || switch (event) {
                    case "try" -> found.lock != asking.number;
                    case "turn" -> found.turn == 0 && found.lock != asking.number;
                    case "lock" -> found.turn == asking.number && found.lock == 0;
                    case "unlock" -> found.lock == asking.number;
                    case "giveup" -> found.lock != asking.number || found.turn != asking.number;
                    default -> true;
                };
    }

    private String answer(SessionStatements sql, String event, Contender asking, SessionKey key) {
        Connection connection = asking.connection;
        try {
            return switch (event) {
                case "try" -> granted(sql.tryLock(connection, key), asking);
                case "turn" -> sql.awaitTurn(connection, key, 10, statement -> {}) ? "first" : "over";
                case "lock" -> granted(sql.awaitLock(connection, key, 10, statement -> {}), asking);
                case "beat" -> sql.heartbeat(connection) == asking.number ? "alive" : "replaced";
                case "unlock" -> sql.unlock(connection, key.lock()) ? "released" : "notheld";
                default -> {
                    sql.unlockIfHeld(connection, key.lock());
                    sql.unlockIfHeld(connection, key.turn());
                    yield "done";
                }
            };
        } catch (SQLException e) {
            return asking.over ? "gone" : e.toString();
        }
    }

    private String granted(SessionStatements.Attempt attempt, Contender asking) {
        assertThat(attempt.session()).isEqualTo(asking.number);
        attempt.token().ifPresent(drawn -> lastToken = drawn);
        return attempt.token().isPresent() ? "granted" : "busy";
    }

    private static Seen look(SessionStatements sql, Connection reader, SessionKey key) throws SQLException {
        return new Seen(sql.holder(reader, key.lock()), sql.holder(reader, key.turn()));
    }

    private static ModelTrace.Step step(
            String event, Contender asking, Seen before, Seen after, String answer, long drawn) {
        return new ModelTrace.Step(
                event,
                Map.of(
                        "session", asking.over ? "over" : "lives",
                        "lock", owner(before.lock, asking),
                        "turn", owner(before.turn, asking)),
                answer,
                Map.of(
                        "lock", left(before.lock, after.lock, asking),
                        "turn", left(before.turn, after.turn, asking),
                        "token", Set.of(drawn == 0 ? "same" : drawn > 0 ? "next" : "less")));
    }

    private static String owner(long session, Contender asking) {
        return session == 0 ? "none" : session == asking.number ? "me" : "other";
    }

    private static Set<String> left(long before, long after, Contender asking) {
        Set<String> values = new HashSet<>(Set.of(owner(after, asking)));
        if (before == after) {
            values.add("same");
        }
        return values;
    }
}
