package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.jdbc.internal.dialect.LockTable;
import dev.holdfast.lock.spi.LockBackend;

/** What the tests of the inner packages use of this package, and users do not see. */
public final class JdbcInternals {
    private JdbcInternals() {}

    public static LockTable table(JdbcStrategy strategy) {
        return strategy.table();
    }

    public static LockBackend backend(JdbcLocks.Builder builder, LockClientOptions options) {
        return builder.backend(options);
    }
}
