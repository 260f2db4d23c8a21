package dev.holdfast.lock.jdbc.internal.sql;

import java.sql.ResultSet;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;

/** The row that a transaction locks until it commits; parts that the databases share. */
public final class TransactionRow {
    /** The state of a failure that means that the transaction reads a snapshot older than the lock. */
    public static final String SERIALIZATION = "40001";

    private TransactionRow() {}

    public static SQLException stale(@Nullable SQLException cause) {
        return new SQLException("another transaction has had the lock since", SERIALIZATION, cause);
    }

    /** The number in the only row. */
    public static long first(ResultSet rows) throws SQLException {
        try (rows) {
            if (!rows.next()) {
                throw new SQLException("no answer to a statement that always has one");
            }
            return rows.getLong(1);
        }
    }
}
