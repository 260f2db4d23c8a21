package dev.holdfast.lock.jdbc.internal.dialect;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.jdbc.JdbcStrategy;
import dev.holdfast.lock.jdbc.internal.sql.TableName;
import java.util.List;

/** The table of each {@link JdbcStrategy}, under the strategy's name. */
public enum LockTable {
    VERSION("version", "holdfast_lock"),
    UNIQUE_INDEX("unique", "holdfast_held"),
    ROW_LOCK("row", "holdfast_row");

    /** Leaves room for the suffix of the sequence's name. */
    private static final int MAX_LENGTH_WITH_SEQUENCE = 57;

    private final String prefix;
    private final String table;

    LockTable(String prefix, String table) {
        this.prefix = prefix;
        this.table = table;
    }

    public TableName defaultTable() {
        return new TableName(table);
    }

    /** The columns that the statements use. */
    public String columns(DatabaseDialect dialect) {
        if (this == ROW_LOCK) {
            return "name, part, token, session, since, holder";
        }
        return "name, owner, token, lease_millis, expires, since, holder"
                + (this == VERSION ? ", shares" : "")
                + (dialect.supportsNotifications() ? ", awaited" : "");
    }

    /** The columns of the primary key. */
    List<String> key() {
        return this == ROW_LOCK ? List.of("name", "part") : List.of("name");
    }

    /** The file that describes the table. */
    String file(DatabaseDialect dialect) {
        return prefix + "-" + (this == UNIQUE_INDEX ? dialect.sequenceSchemaFamily() : dialect.schemaFamily()) + ".sql";
    }

    /**
     * Refuses a strategy that cannot work.
     *
     * @throws LockConfigurationException if the database or the table's name does not suit this strategy
     */
    public void requireSupported(DatabaseDialect dialect, TableName name) {
        dialect.requireSupported(this);
        if (this == UNIQUE_INDEX && name.local().length() > MAX_LENGTH_WITH_SEQUENCE) {
            throw new LockConfigurationException("lock table '" + name + "': with strategy UNIQUE_INDEX the name must"
                    + " have at most " + MAX_LENGTH_WITH_SEQUENCE + " characters; shorten it");
        }
    }
}
