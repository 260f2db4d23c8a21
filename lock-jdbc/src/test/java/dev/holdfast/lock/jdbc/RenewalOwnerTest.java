package dev.holdfast.lock.jdbc;

import static dev.holdfast.lock.testkit.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.BackendDriver.newAcquisition;
import static dev.holdfast.lock.testkit.BackendDriver.renew;
import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.RenewResult;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A client that has not noticed its loss yet must not renew the next holder's lease. */
final class RenewalOwnerTest {
    @ParameterizedTest
    @EnumSource
    void renewal_ofAnotherOwner_leavesTheHoldersLeaseAsItIs(SharedDb shared) throws Exception {
        Db db = shared.db();
        String table = SharedDb.newTable();
        String end = "SELECT " + db.dialect.epochMillis("expires") + " FROM " + table;
        try (HikariDataSource pool = db.pool(config -> {});
                LockBackend backend = JdbcLocks.builder(pool)
                        .table(table)
                        .createTable(true)
                        .notifications(false)
                        .backend(LockClientOptions.defaults())) {
            Grant held = acquire(backend, "x");
            db.execute("UPDATE " + table + " SET lease_millis = 3600000"); // a renewal would show
            long before = db.number(end);
            Grant lost = new Grant(newAcquisition("x"), held.token(), 60_000, null);

            assertThat(renew(backend, lost)).isInstanceOf(RenewResult.Lost.class);
            assertThat(db.number(end)).isEqualTo(before);
        }
    }

    /** Its row still has its owner but has expired: of locks renewed together, each has its own result. */
    @ParameterizedTest
    @EnumSource
    void renewal_ofWhatHasExpired_isLost_besideOneThatIsHeld(SharedDb shared) throws Exception {
        Db db = shared.db();
        String table = SharedDb.newTable();
        try (HikariDataSource pool = db.pool(config -> {});
                LockBackend backend = JdbcLocks.builder(pool)
                        .table(table)
                        .createTable(true)
                        .notifications(false)
                        .backend(LockClientOptions.defaults())) {
            Grant expired = acquire(backend, "expired");
            Grant held = acquire(backend, "held");
            db.execute("UPDATE " + table + " SET expires = " + db.dialect.nowPlusMillis("-1000") + " WHERE owner = '"
                    + expired.acquisition().owner() + "'");

            List<RenewResult> results = renew(backend, List.of(expired, held));

            assertThat(results.get(0)).isInstanceOf(RenewResult.Lost.class);
            assertThat(results.get(1)).isInstanceOf(RenewResult.Renewed.class);
        }
    }
}
