package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.house.ManyPermitWaitersContract;
import org.junit.jupiter.api.Tag;

/** Thousands of waiters of several processes on PostgreSQL. */
@Tag(House.SLOW)
@House(value = "scale:processes", store = "postgresql")
final class ManyWaitersIT extends ManyPermitWaitersContract {
    private final String table = SharedDb.newTable();

    @Override
    protected String uri() throws Exception {
        return HoldingProcessIT.uri(SharedDb.POSTGRESQL.db(), JdbcStrategy.VERSION, table);
    }
}
