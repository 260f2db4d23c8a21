package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.house.PausedProcessContract;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;

/** A paused client of PostgreSQL, by each strategy: two of them end with a connection, which a paused process keeps. */
final class PausedProcessIT {

    /** A row lock needs a connection for each lock that is held or waited for. */
    private static String uri(JdbcStrategy strategy, String table) throws Exception {
        return HoldingProcessIT.uri(SharedDb.POSTGRESQL.db(), strategy, table) + "&holdfast.poolSize=24";
    }

    @Nested
    @Tag(House.SLOW)
    @House(value = "process:pauses", store = "postgresql")
    final class ByVersion extends PausedProcessContract {
        private final String table = SharedDb.newTable();

        @Override
        protected String uri() throws Exception {
            return PausedProcessIT.uri(JdbcStrategy.VERSION, table);
        }
    }

    @Nested
    @Tag(House.SLOW)
    @House(value = "process:pauses", store = "postgresql")
    final class ByUniqueIndex extends PausedProcessContract {
        private final String table = SharedDb.newTable();

        @Override
        protected String uri() throws Exception {
            return PausedProcessIT.uri(JdbcStrategy.UNIQUE_INDEX, table);
        }
    }

    @Nested
    @Tag(House.SLOW)
    @House(value = "process:pauses", store = "postgresql")
    final class ByRowLock extends PausedProcessContract {
        private final String table = SharedDb.newTable();

        @Override
        protected String uri() throws Exception {
            return PausedProcessIT.uri(JdbcStrategy.ROW_LOCK, table);
        }
    }

    @Nested
    @Tag(House.SLOW)
    @House(value = "process:pauses", store = "postgresql")
    final class BySession extends PausedProcessContract {
        private final String table = SharedDb.newTable();

        @Override
        protected String uri() throws Exception {
            return PausedProcessIT.uri(JdbcStrategy.SESSION, table);
        }
    }
}
