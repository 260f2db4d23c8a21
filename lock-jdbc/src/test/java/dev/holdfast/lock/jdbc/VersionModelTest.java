package dev.holdfast.lock.jdbc;

import static dev.holdfast.lock.testkit.BackendDriver.LEASE_MILLIS;
import static dev.holdfast.lock.testkit.BackendDriver.TIMEOUT_MILLIS;
import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.BackendDriver;
import dev.holdfast.lock.testkit.ModelTrace;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Each step of the strategy VERSION on a real database is a row of models/row.table, of which the Promela model is made: three
 * contenders in any order, leases that end, requests of acquisitions that have ended. The row is read before and after each step.
 */
final class VersionModelTest {
    private static final int STEPS = 300;

    /** A claim that counts from the end of a lease ends while the test goes on: such a step is left out, and another one made. */
    private static final int MOST_STEPS = 5_000;

    private static final List<String> EVENTS = List.of("attempt", "renew", "release", "abandon");

    /** The lock's row. */
    private record Seen(String owner, long token, String expires, boolean runs, boolean recent, String line) {
        String ownerFor(String asking) {
            return owner.isEmpty() ? "none" : owner.equals(asking) ? "me" : "other";
        }

        String claimFor(String asking) {
            boolean free = owner.isEmpty() || !runs;
            return free && recent && !line.isEmpty() && !line.startsWith(asking) ? "other" : "open";
        }

        /** What is behind somebody, or behind the first who did not come. */
        String past(String asking) {
            int place = line.indexOf(asking);
            return place >= 0 ? line.substring(place + 32) : line.substring(Math.min(32, line.length()));
        }
    }

    @ParameterizedTest
    @EnumSource(SharedDb.class)
    void everyStep_isOneOfTheModel(SharedDb shared) throws Exception {
        ModelTrace trace = ModelTrace.of(Path.of("..", "models", "row.table"));
        Db db = shared.db();
        String table = SharedDb.newTable();
        Random random = new Random(26);
        try (HikariDataSource pool = db.pool(config -> config.setConnectionTimeout(30_000));
                Connection reader = db.connect();
                LockBackend backend = JdbcLocks.builder(pool)
                        .strategy(JdbcStrategy.VERSION)
                        .table(table)
                        .createTable(true)
                        .notifications(false)
                        .backend(LockClientOptions.defaults())) {
            List<AcquisitionId> contenders = Stream.generate(() -> BackendDriver.newAcquisition("model"))
                    .limit(3)
                    .toList();
            send(backend, "attempt", contenders.get(0));
            long claimNanos = System.nanoTime();
            for (int step = 0; step < STEPS || !trace.rowsNotMet().isEmpty() && step < MOST_STEPS; step++) {
                boolean free = look(reader, db, table).owner().isEmpty();
                int time = free ? random.nextInt(2) : random.nextInt(8);
                if (time < 2) { // the lease passes, or has passed; the claim stands, or has ended
                    String expires = time == 0 ? "(-60000)" : free ? "900" : "0";
                    claimNanos = System.nanoTime() + (free ? 900_000_000 : 0);
                    try (var statement = reader.createStatement()) {
                        statement.executeUpdate(
                                "UPDATE " + table + " SET expires = " + db.dialect.nowPlusMillis(expires));
                    }
                }
                AcquisitionId asking = contenders.get(random.nextInt(contenders.size()));
                String event = EVENTS.get(random.nextInt(EVENTS.size()));
                Seen before = look(reader, db, table);
                String answer = send(backend, event, asking);
                Seen after = look(reader, db, table);
                if (!before.recent() || System.nanoTime() - claimNanos < 15_000_000) {
                    trace.add(step(event, asking.owner().toString(), before, after, answer));
                }
            }
        }

        trace.assertEachStepIsOfTheModel();
        assertThat(trace.rowsNotMet()).isEmpty();
        assertThat(trace.assertChangedStepsAreRefused())
                .as("changed steps, all refused")
                .isPositive();
    }

    private static ModelTrace.Step step(String event, String asking, Seen before, Seen after, String answer) {
        Set<String> owner = new HashSet<>(Set.of(after.ownerFor(asking)));
        if (before.owner().equals(after.owner())) {
            owner.add("same");
        }
        Set<String> line = new HashSet<>();
        if (after.line().equals(before.line())) {
            line.add("same");
        }
        if (after.line().equals(before.line().replace(asking, ""))) {
            line.add("without");
        }
        if (after.line().equals(before.line().contains(asking) ? before.line() : before.line() + asking)) {
            line.add("with");
        }
        if (after.line().equals(before.past(asking))) {
            line.add("past");
        }
        return new ModelTrace.Step(
                event,
                Map.of(
                        "owner",
                        before.ownerFor(asking),
                        "lease",
                        before.runs() ? "runs" : "over",
                        "claim",
                        before.claimFor(asking)),
                answer,
                Map.of(
                        "owner",
                        owner,
                        "lease",
                        Set.of(after.expires().equals(before.expires()) ? "same" : after.runs() ? "full" : "over"),
                        "line",
                        line,
                        "token",
                        Set.of(
                                after.token() == before.token()
                                        ? "same"
                                        : after.token() > before.token() ? "next" : "less")));
    }

    private static Seen look(Connection reader, Db db, String table) throws SQLException {
        Dialect dialect = db.dialect;
        try (var statement = reader.createStatement();
                ResultSet row = statement.executeQuery("SELECT owner, token, expires, CASE WHEN expires > "
                        + dialect.now() + " THEN 1 ELSE 0 END, CASE WHEN expires > " + dialect.nowPlusMillis("(-20)")
                        + " AND expires < " + dialect.nowPlusMillis("1000")
                        + " THEN 1 ELSE 0 END, COALESCE(waiters, '') FROM " + table)) {
            assertThat(row.next()).as("the row").isTrue();
            String owner = row.getString(1);
            return new Seen(
                    owner == null ? "" : owner.trim(),
                    row.getLong(2),
                    row.getString(3),
                    row.getInt(4) == 1,
                    row.getInt(5) == 1,
                    row.getString(6));
        }
    }

    private static String send(LockBackend backend, String event, AcquisitionId asking) {
        Grant grant = new Grant(asking, 1, LEASE_MILLIS, null);
        switch (event) {
            case "attempt" -> {
                AcquireRequest request = new AcquireRequest(
                        asking,
                        LEASE_MILLIS,
                        BackendDriver.WAIT_MILLIS,
                        false,
                        null,
                        TIMEOUT_MILLIS,
                        BackendDriver.IDENTITY);
                return BackendDriver.answer(backend.tryAcquire(request)) instanceof AcquireResult.Granted
                        ? "granted"
                        : "busy";
            }
            case "renew" -> {
                return BackendDriver.renew(backend, grant) instanceof RenewResult.Renewed ? "renewed" : "lost";
            }
            case "release" -> {
                return BackendDriver.release(backend, grant) == ReleaseResult.RELEASED ? "released" : "notheld";
            }
            default -> {
                BackendDriver.answer(backend.abandon(asking, TIMEOUT_MILLIS));
                return "done";
            }
        }
    }
}
