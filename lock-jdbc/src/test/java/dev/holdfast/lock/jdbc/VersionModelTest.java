package dev.holdfast.lock.jdbc;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.LEASE_MILLIS;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.TIMEOUT_MILLIS;
import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.jdbc.internal.dialect.Db;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import dev.holdfast.lock.testkit.support.ModelTrace;
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
 * Each step of the strategy VERSION on a real database is a row of verification/models/row.table, of which the Promela model is made: three
 * contenders in any order, leases that end, requests of acquisitions that have ended. The row is read before and after each step.
 */
final class VersionModelTest {
    private static final int STEPS = 300;
    private static final List<String> EVENTS = List.of("attempt", "renew", "release", "abandon");

    /** The lock's row. */
    private record Seen(String owner, long token, String expires, boolean runs) {
        String ownerFor(String asking) {
            return owner.isEmpty() ? "none" : owner.equals(asking) ? "me" : "other";
        }
    }

    @ParameterizedTest
    @EnumSource(SharedDb.class)
    void everyStep_isOneOfTheModel(SharedDb shared) throws Exception {
        ModelTrace trace = ModelTrace.of(Path.of("..", "verification", "models", "row.table"));
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
            for (int step = 0; step < STEPS; step++) {
                if (random.nextInt(4) == 0) { // the lease passes
                    try (var statement = reader.createStatement()) {
                        statement.executeUpdate("UPDATE " + table + " SET expires = since");
                    }
                }
                AcquisitionId asking = contenders.get(random.nextInt(contenders.size()));
                String event = EVENTS.get(random.nextInt(EVENTS.size()));
                Seen before = look(reader, table);
                String answer = send(backend, event, asking);
                trace.add(step(event, asking.owner().toString(), before, look(reader, table), answer));
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
        return new ModelTrace.Step(
                event,
                Map.of("owner", before.ownerFor(asking), "lease", before.runs() ? "runs" : "over"),
                answer,
                Map.of(
                        "owner", owner,
                        "lease",
                                Set.of(
                                        after.expires().equals(before.expires())
                                                ? "same"
                                                : after.runs() ? "full" : "over"),
                        "token",
                                Set.of(
                                        after.token() == before.token()
                                                ? "same"
                                                : after.token() > before.token() ? "next" : "less")));
    }

    private static Seen look(Connection reader, String table) throws SQLException {
        try (var statement = reader.createStatement();
                ResultSet row = statement.executeQuery(
                        "SELECT owner, token, expires, CASE WHEN expires > since THEN 1 ELSE 0 END FROM " + table)) {
            assertThat(row.next()).as("the row").isTrue();
            String owner = row.getString(1);
            return new Seen(owner == null ? "" : owner.trim(), row.getLong(2), row.getString(3), row.getInt(4) == 1);
        }
    }

    private static String send(LockBackend backend, String event, AcquisitionId asking) {
        Grant grant = new Grant(asking, 1, LEASE_MILLIS, null);
        switch (event) {
            case "attempt" -> {
                AcquireRequest request = new AcquireRequest(
                        asking, LEASE_MILLIS, 0, false, null, TIMEOUT_MILLIS, BackendDriver.IDENTITY);
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
