package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.jdbc.internal.dialect.Db;
import dev.holdfast.lock.jdbc.internal.dialect.Product;
import dev.holdfast.lock.jdbc.internal.sql.SessionKey;
import dev.holdfast.lock.jdbc.internal.sql.SessionStatements;
import dev.holdfast.lock.jdbc.internal.sql.TableName;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.testkit.support.ModelTrace;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Each statement of the strategy SESSION on a real server is a row of verification/models/session.table, of which the Promela model is
 * made: three sessions in any order, which an administrator ends at times; readers where the database has
 * them. Who has the lock and the turn is read before and after each.
 */
final class SessionModelTest {
    private static final int STEPS = 300;
    private static final String[] EVENTS = {"try", "try", "turn", "lock", "beat", "unlock", "unlock", "giveup"};

    /** Some rows need several sessions in one order: the test goes on until each row has been met, for this number of steps at most. */
    private static final int MAX_STEPS = 20 * STEPS;

    private static final String[] EVENTS_WITH_READERS = {
        "try",
        "turn",
        "turn",
        "lock",
        "beat",
        "unlock",
        "giveup",
        "read",
        "read",
        "read",
        "join",
        "join",
        "readLock",
        "endRead"
    };
    /** What only rows about readers have. */
    private static final Pattern READERS = Pattern.compile("\\b(read|join|readLock|endRead|alone|both)\\b");

    private final Random random = new Random(54);
    private final Contender[] contenders = {new Contender(), new Contender(), new Contender()};
    private long lastToken;

    /** A session, and its number on the server; another one replaces it after its end. */
    private static final class Contender {
        Connection connection;
        long number;
        boolean over;
    }

    /** Whose sessions have the lock, and whether they share it; whose has the turn, or 0. */
    private record Seen(Set<Long> lock, boolean shared, long turn) {
        boolean isWrittenBy(Contender asking) {
            return !shared && lock.contains(asking.number);
        }

        boolean isReadBy(Contender asking) {
            return shared && lock.contains(asking.number);
        }

        boolean isHeldBy(Contender asking) {
            return lock.contains(asking.number);
        }
    }

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
            boolean readers = Product.of(db.dialect) == Product.POSTGRESQL;
            String[] events = readers ? EVENTS_WITH_READERS : EVENTS;
            for (int step = 0;
                    step < STEPS
                            || step < MAX_STEPS
                                    && (step % 50 != 0 || !notMet(trace, shared).isEmpty());
                    step++) {
                Contender asking = contenders[random.nextInt(contenders.length)];
                if (asking.connection == null || asking.over) {
                    open(db, sql, asking);
                }
                if (random.nextInt(12) == 0) {
                    SessionAdministrator.kill(db, asking.number);
                    asking.over = true;
                }
                Seen before = look(sql, reader, key);
                String event = events[random.nextInt(events.length)];
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
        assertThat(notMet(trace, shared)).isEmpty();
        assertThat(trace.assertChangedStepsAreRefused())
                .as("changed steps, all refused")
                .isPositive();
    }

    /** The rows that no step has come to; those about readers count where the database has them. */
    private static List<String> notMet(ModelTrace trace, SharedDb shared) {
        return trace.rowsNotMet().stream()
                .filter(row ->
                        shared == SharedDb.POSTGRESQL || !READERS.matcher(row).find())
                .toList();
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
                    case "try" -> !found.isHeldBy(asking);
                    case "turn" -> found.turn == 0 && !found.isHeldBy(asking);
                    case "lock" -> found.turn == asking.number && found.lock.isEmpty();
                    case "read" -> found.turn != asking.number && !found.isHeldBy(asking);
                    case "join", "endRead" -> found.isReadBy(asking);
                    case "readLock" -> found.turn == asking.number && (found.shared || found.lock.isEmpty());
                    case "unlock" -> found.isWrittenBy(asking);
                    case "giveup" -> !found.isHeldBy(asking) || found.turn != asking.number;
                    default -> true;
                };
    }

    private static SessionStatements.Attempt attempt(SessionStatements sql, Connection connection, SessionKey key)
            throws SQLException {
        SessionStatements.Attempts attempts = sql.tryLock(connection, List.of(key));
        return new SessionStatements.Attempt(attempts.tokens().get(0), attempts.session());
    }

    private String answer(SessionStatements sql, String event, Contender asking, SessionKey key) {
        Connection connection = asking.connection;
        try {
            return switch (event) {
                case "try" -> granted(attempt(sql, connection, key), asking);
                case "turn" -> sql.awaitTurn(connection, key, 10, statement -> {}) ? "first" : "over";
                case "lock" -> granted(sql.awaitLock(connection, key, false, 10, statement -> {}), asking);
                case "read" -> granted(sql.tryRead(connection, key), asking);
                case "join" -> granted(sql.joinReaders(connection, key), asking);
                case "readLock" -> granted(sql.awaitLock(connection, key, true, 10, statement -> {}), asking);
                case "endRead" -> sql.unlockRead(connection, key.lock()) ? "released" : "notheld";
                case "beat" -> sql.heartbeat(connection) == asking.number ? "alive" : "replaced";
                case "unlock" -> sql.unlock(connection, List.of(key.lock())).contains(true) ? "released" : "notheld";
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
        List<SessionStatements.Holding> holders = sql.holders(reader, key.lock());
        List<SessionStatements.Holding> turn = sql.holders(reader, key.turn());
        assertThat(turn).noneMatch(SessionStatements.Holding::reads);
        return new Seen(
                holders.stream().map(SessionStatements.Holding::session).collect(Collectors.toSet()),
                holders.stream().anyMatch(SessionStatements.Holding::reads),
                turn.isEmpty() ? 0 : turn.get(0).session());
    }

    private static ModelTrace.Step step(
            String event, Contender asking, Seen before, Seen after, String answer, long drawn) {
        return new ModelTrace.Step(
                event,
                Map.of(
                        "session", asking.over ? "over" : "lives",
                        "lock", lock(before, asking),
                        "turn", owner(before.turn, asking)),
                answer,
                Map.of(
                        "lock", left(lock(after, asking), before.lock.equals(after.lock)),
                        "turn", left(owner(after.turn, asking), before.turn == after.turn),
                        "token", Set.of(drawn == 0 ? "same" : drawn > 0 ? "next" : "less")));
    }

    private static String owner(long session, Contender asking) {
        return session == 0 ? "none" : session == asking.number ? "me" : "other";
    }

    private static String lock(Seen seen, Contender asking) {
        boolean mine = seen.isHeldBy(asking);
        if (seen.lock.isEmpty()) {
            return "none";
        }
        if (!seen.shared) {
            return mine ? "me" : "other";
        }
        return !mine ? "read" : seen.lock.size() == 1 ? "alone" : "both";
    }

    private static Set<String> left(String value, boolean same) {
        return same ? Set.of(value, "same") : Set.of(value);
    }
}
