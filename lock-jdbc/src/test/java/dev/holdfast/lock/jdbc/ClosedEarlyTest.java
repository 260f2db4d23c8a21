package dev.holdfast.lock.jdbc;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.testkit.ClosedEarly;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** An application that closes its pool before the lock client, as a container without a declared dependency does. */
final class ClosedEarlyTest {
    private static final String LINE = "its connection was closed before it, so 5 locks could not be released";

    @TestFactory
    Stream<DynamicTest> pool_closedBeforeTheLockClient() {
        return Stream.of(JdbcStrategy.VERSION, JdbcStrategy.UNIQUE_INDEX, JdbcStrategy.ROW_LOCK)
                .flatMap(strategy -> Stream.of(
                        DynamicTest.dynamicTest("PostgreSQL, " + strategy, () -> check(Db.postgres(), strategy)),
                        DynamicTest.dynamicTest("MariaDB, " + strategy, () -> check(Db.mariadb("mariadb"), strategy))));
    }

    private static void check(Db started, JdbcStrategy strategy) throws Exception {
        try (Db db = started;
                HikariDataSource pool = db.pool(config -> config.setMaximumPoolSize(8))) {
            ClosedEarly.check(
                    options -> JdbcLocks.builder(pool)
                            .strategy(strategy)
                            .createTable(true)
                            .options(options)
                            .build(),
                    pool,
                    LINE,
                    "close the lock client first");
        }
    }
}
