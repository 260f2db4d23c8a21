package dev.holdfast.lock.jdbc.internal.dialect;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.jdbc.JdbcStrategy;
import dev.holdfast.lock.jdbc.internal.sql.TableName;
import java.util.List;

/** The table of each {@link JdbcStrategy}, under the strategy's name. */
public enum LockTable {
    VERSION("version", "holdfast_lock"),
    UNIQUE_INDEX("unique", "holdfast_held"),
    ROW_LOCK("row", "holdfast_row"),
    SESSION("session", "holdfast_session");

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

    /** Whether the fencing tokens of all names come from a sequence, beside a table whose rows are deleted. */
    public boolean hasSequence() {
        return this == UNIQUE_INDEX || this == SESSION;
    }

    /** The columns that the statements use. */
    public String columns(DatabaseDialect dialect) {
        if (this == ROW_LOCK) {
            return "name, part, token, session, since, holder";
        }
        if (this == SESSION) {
            return "name, token, session, since, holder";
        }
        return "name, owner, token, lease_millis, expires, since, holder"
                + (this == VERSION ? ", shares" : "")
                + (dialect.supportsNotifications() ? ", awaited" : "");
    }

    /** The columns of the primary key. */
    List<String> key(DatabaseDialect dialect) {
        if (this == SESSION && dialect.whySessionLocksAreNotShared() == null) {
            return List.of("name", "token"); // a row for each reader
        }
        return this == ROW_LOCK ? List.of("name", "part") : List.of("name");
    }

    /** The file that describes the table. */
    String file(DatabaseDialect dialect) {
        return prefix + "-" + (hasSequence() ? dialect.sequenceSchemaFamily() : dialect.schemaFamily()) + ".sql";
    }

    /**
     * Refuses a strategy that cannot work.
     *
     * @throws LockConfigurationException if the database or the table's name does not suit this strategy
     */
    public void requireSupported(DatabaseDialect dialect, TableName name) {
        dialect.requireSupported(this);
        if (hasSequence() && name.local().length() > MAX_LENGTH_WITH_SEQUENCE) {
            throw new LockConfigurationException("lock table '" + name + "': with strategy " + this + " the name must"
                    + " have at most " + MAX_LENGTH_WITH_SEQUENCE + " characters; shorten it");
        }
    }
}
