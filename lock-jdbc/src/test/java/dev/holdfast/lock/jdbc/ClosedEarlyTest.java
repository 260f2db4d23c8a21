package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.support.ClosedEarly;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** An application that closes its pool before the lock client, as a container without a declared dependency does. */
@House("middlebox:closed early")
final class ClosedEarlyTest {
    private static final String LINE = "its connection was closed before it, so 5 locks could not be released";

    @TestFactory
    Stream<DynamicTest> pool_closedBeforeTheLockClient() {
        return Stream.of(JdbcStrategy.VERSION, JdbcStrategy.UNIQUE_INDEX, JdbcStrategy.ROW_LOCK)
                .flatMap(strategy -> Stream.of(
                        DynamicTest.dynamicTest("PostgreSQL, " + strategy, () -> check(SharedDb.POSTGRESQL, strategy)),
                        DynamicTest.dynamicTest("MariaDB, " + strategy, () -> check(SharedDb.MARIADB, strategy))));
    }

    private static void check(SharedDb shared, JdbcStrategy strategy) throws Exception {
        String table = SharedDb.newTable();
        try (HikariDataSource pool = shared.db().pool(config -> config.setMaximumPoolSize(8))) {
            Function<LockClientOptions, LockClient> client = options -> JdbcLocks.builder(pool)
                    .strategy(strategy)
                    .table(table)
                    .createTable(true)
                    .options(options)
                    .build();
            if (strategy == JdbcStrategy.ROW_LOCK) {
                List<String> warnings = ClosedEarly.warnings(client, pool);
                assertThat(warnings).allSatisfy(line -> assertThat(line).contains("close the lock client first"));
                assertThat(warnings.stream().mapToInt(ClosedEarlyTest::locks).sum())
                        .as("%s", warnings)
                        .isEqualTo(5);
            } else {
                ClosedEarly.check(client, pool, LINE, "close the lock client first");
            }
        }
    }

    /** How many locks a line is about. A row lock looks at its connection four times a second, so it may find the loss first. */
    private static int locks(String line) {
        Matcher count = Pattern.compile("(\\d+) (more leases were lost|locks could not)")
                .matcher(line);
        return count.find() ? Integer.parseInt(count.group(1)) : 1;
    }

    /** The losses are found while the lock client is open. */
    @Test
    void pool_closedLongBefore_lossNamesThePool() throws Exception {
        try (HikariDataSource pool = SharedDb.POSTGRESQL.db().pool(config -> {});
                LockClient client = JdbcLocks.builder(pool)
                        .strategy(JdbcStrategy.ROW_LOCK)
                        .table(SharedDb.newTable())
                        .createTable(true)
                        .options(LockClientOptions.builder()
                                .requestTimeout(Duration.ofSeconds(3)) // the table is created within it
                                .lockOptions(LockOptions.builder()
                                        .lease(Duration.ofSeconds(9))
                                        .build())
                                .build())
                        .build()) {
            Lease lease = client.lock("early").acquire();
            pool.close();
            lease.lost().toCompletableFuture().get(60, TimeUnit.SECONDS);
            assertThatThrownBy(lease::close).hasMessageContaining("the pool was closed before the lock client");
        }
    }
}
