package dev.holdfast.lock.jdbc;

import static dev.holdfast.lock.testkit.BackendDriver.release;
import static dev.holdfast.lock.testkit.BackendDriver.renew;
import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.testkit.BackendDriver;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What shares and permits cost, counted at the data source. */
final class ShareStatementsTest {
    private static final Demand TWO = new Demand.Permits(1, 2);

    @ParameterizedTest
    @EnumSource
    void readerAlone_asTheMutex(SharedDb shared) throws Exception {
        counted(shared, (backend, statements) -> {
            release(backend, acquire(backend, Demand.SHARED));

            long before = statements.get();
            Grant alone = acquire(backend, Demand.SHARED);
            assertThat(statements.get() - before).as("to acquire").isEqualTo(1);
            renew(backend, List.of(alone));
            assertThat(statements.get() - before).as("and renew").isEqualTo(2);
            release(backend, alone);
            assertThat(statements.get() - before).as("and release").isEqualTo(3);
        });
    }

    @ParameterizedTest
    @EnumSource
    void secondReader_readsAndChanges(SharedDb shared) throws Exception {
        counted(shared, (backend, statements) -> {
            Grant first = acquire(backend, Demand.SHARED);

            long before = statements.get();
            Grant second = acquire(backend, Demand.SHARED);
            assertThat(statements.get() - before)
                    .as("to acquire")
                    .isEqualTo(shared.db().dialect.mysqlFamily() ? 4 : 3);
            before = statements.get();
            release(backend, second);
            assertThat(statements.get() - before).as("to release").isEqualTo(3);
            release(backend, first);
            assertThat(statements.get() - before).as("and release the first").isEqualTo(6);
        });
    }

    @ParameterizedTest
    @EnumSource
    void permits_readAndChange(SharedDb shared) throws Exception {
        counted(shared, (backend, statements) -> {
            release(backend, acquire(backend, TWO));

            long before = statements.get();
            Grant permit = acquire(backend, TWO);
            assertThat(statements.get() - before).as("to acquire").isEqualTo(2);
            renew(backend, List.of(permit));
            assertThat(statements.get() - before).as("and renew").isEqualTo(4);
            release(backend, permit);
            assertThat(statements.get() - before).as("and release").isEqualTo(6);
        });
    }

    /** The note that it had waited next to shares is removed: the row is not searched any more. */
    @ParameterizedTest
    @EnumSource
    void lockThatHadWaitedBesideAReader_abandoned_asAnyLock(SharedDb shared) throws Exception {
        counted(shared, (backend, statements) -> {
            Grant reader = acquire(backend, Demand.SHARED);
            BackendDriver writer = BackendDriver.of(backend, "orders/42");
            writer.queueUp();
            release(backend, reader);
            writer.acquireQueued();

            long before = statements.get();
            writer.abandon();
            assertThat(statements.get() - before).isEqualTo(1);
        });
    }

    private static Grant acquire(LockBackend backend, Demand demand) {
        return BackendDriver.of(backend, "orders/42", demand, 60_000).acquire();
    }

    private static void counted(SharedDb shared, Use use) throws Exception {
        AtomicLong statements = new AtomicLong();
        try (HikariDataSource pool = shared.db().pool(config -> config.setMaximumPoolSize(2));
                LockBackend backend = JdbcLocks.builder(new CountingDataSource(pool, statements))
                        .table(SharedDb.newTable())
                        .createTable(true)
                        .notifications(false)
                        .backend(LockClientOptions.defaults())) {
            use.of(backend, statements);
        }
    }

    private interface Use {
        void of(LockBackend backend, AtomicLong statements) throws Exception;
    }
}
