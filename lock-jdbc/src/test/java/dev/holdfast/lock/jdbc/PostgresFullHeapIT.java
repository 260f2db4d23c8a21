package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.testkit.house.FullHeapContract;
import dev.holdfast.lock.testkit.house.House;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;

/** A client of PostgreSQL whose heap is full. */
@Tag(House.SLOW)
final class PostgresFullHeapIT {
    private PostgresFullHeapIT() {}

    private abstract static class Contract extends FullHeapContract {
        /** A row lock takes a connection, and a client has 17. */
        private static final int POOL = 24;

        private final JdbcStrategy strategy;
        private final String table = SharedDb.newTable();

        Contract(JdbcStrategy strategy) {
            this.strategy = strategy;
        }

        @Override
        protected String uri() throws Exception {
            return HoldingProcessIT.uri(SharedDb.POSTGRESQL.db(), strategy, table) + "&holdfast.poolSize=" + POOL;
        }
    }

    @Nested
    @DisplayName("VERSION")
    @House(value = "process:heap", store = "postgresql")
    final class ByVersion extends Contract {
        ByVersion() {
            super(JdbcStrategy.VERSION);
        }
    }

    @Nested
    @DisplayName("ROW_LOCK")
    @House(value = "process:heap", store = "postgresql")
    final class ByRowLock extends Contract {
        ByRowLock() {
            super(JdbcStrategy.ROW_LOCK);
        }
    }

    @Nested
    @DisplayName("SESSION")
    @House(value = "process:heap", store = "postgresql")
    final class BySession extends Contract {
        BySession() {
            super(JdbcStrategy.SESSION);
        }
    }
}
