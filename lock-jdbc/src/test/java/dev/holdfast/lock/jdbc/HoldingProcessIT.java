package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.jdbc.internal.dialect.Db;
import dev.holdfast.lock.testkit.support.PauseMeter;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** A holder in another process is killed, or frozen for longer than its lease. */
final class HoldingProcessIT {
    private static final int TRIES = 10;
    private static final Duration BOUND = Duration.ofSeconds(1);
    private static final Duration SESSION_BOUND = Duration.ofMillis(100);

    static String uri(Db db, JdbcStrategy strategy, String table) {
        return db.url() + "?user=" + db.user() + "&password=" + db.password() + "&holdfast.createTable=true"
                + "&holdfast.strategy=" + strategy.name().replace('_', '-') + "&holdfast.table=" + table;
    }

    /** The server sees at once that the process is gone; what is left is the wake-up and the token. */
    @ParameterizedTest
    @CsvSource({
        "POSTGRESQL, ROW_LOCK",
        "MARIADB, ROW_LOCK",
        "MARIADB_BY_MYSQL_DRIVER, ROW_LOCK",
        "POSTGRESQL, SESSION",
        "MARIADB, SESSION"
    })
    void lockOfAConnection_holderKilled_waiterFollowsAtOnce(SharedDb shared, JdbcStrategy strategy) throws Exception {
        Db db = shared.db();
        String uri = uri(db, strategy, SharedDb.newTable());
        long boundNanos = (strategy == JdbcStrategy.SESSION ? SESSION_BOUND : BOUND).toNanos();
        long bestNanos = Long.MAX_VALUE;
        try (LockClient waiter = LockClient.connect(uri, HoldingProcess.PATIENT)) {
            waiter.lock("killed").acquire().close();
            for (int i = 0; i < TRIES && bestNanos >= boundNanos; i++) {
                try (HoldingProcess holder = HoldingProcess.start(uri, "killed", Duration.ofMinutes(10))) {
                    long token = holder.awaitToken();
                    CompletableFuture<Long> nanos = new CompletableFuture<>();
                    CompletableFuture<Lease> waiting = waiter.lock("killed").acquireAsync(Duration.ofMinutes(2));
                    waiting.thenRun(() -> nanos.complete(System.nanoTime()));
                    assertThat(waiting).isNotDone();
                    try (PauseMeter pauses = PauseMeter.start(Duration.ofSeconds(1))) {
                        long endedNanos = holder.kill();
                        try (Lease next = waiting.get(2, TimeUnit.MINUTES)) {
                            assertThat(next.token()).isGreaterThan(token);
                        }
                        long tookNanos = nanos.get(1, TimeUnit.MINUTES) - endedNanos;
                        bestNanos =
                                Math.min(bestNanos, tookNanos - pauses.longest().toNanos());
                    }
                }
            }
        }
        System.out.printf(
                "take-over: %-25s %s, end of the killed holder to the next grant, without the machine's pauses: %d ms%n",
                db.name, strategy, TimeUnit.NANOSECONDS.toMillis(bestNanos));
        assertThat(bestNanos)
                .as("the best of %d tries, of a lease of ten minutes", TRIES)
                .isLessThan(boundNanos);
    }

    static Stream<Arguments> serversAndStrategies() {
        return Stream.of(SharedDb.POSTGRESQL, SharedDb.MARIADB)
                .flatMap(db -> Stream.of(JdbcStrategy.values()).map(strategy -> Arguments.of(db, strategy)));
    }

    @ParameterizedTest
    @MethodSource("serversAndStrategies")
    void holderFrozenBeyondItsLease_isFollowed_andKnowsWhenItWakes(SharedDb shared, JdbcStrategy strategy)
            throws Exception {
        String uri = uri(shared.db(), strategy, SharedDb.newTable());
        try (LockClient waiter = LockClient.connect(uri, HoldingProcess.PATIENT);
                HoldingProcess holder = HoldingProcess.start(uri, "frozen", Duration.ofSeconds(2))) {
            long token = holder.awaitToken();
            holder.freeze();
            try (Lease next = waiter.lock("frozen").acquire(Duration.ofMinutes(2))) {
                assertThat(next.token()).isGreaterThan(token);
                holder.thaw();
                assertThat(holder.line()).startsWith("lost " + token + " ").endsWith(" false");
                next.ensure(Duration.ofMillis(1));
            }
        }
    }
}
