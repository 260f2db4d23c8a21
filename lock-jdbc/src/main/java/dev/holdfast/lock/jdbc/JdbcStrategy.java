package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.LockConfigurationException;

/** How the database keeps a lock. */
public enum JdbcStrategy {
    /**
     * One permanent row per name, which counts the name's fencing tokens; the default, in table {@code holdfast_lock}. It
     * takes one statement to acquire and one to release, and keeps no transaction or connection in between. For names
     * that are used repeatedly, since each name ever used keeps a row.
     */
    VERSION("version", "holdfast_lock"),

    /**
     * One row per name in use, unique by name, in table {@code holdfast_held}. The fencing tokens of all names come from
     * one sequence. Costs the same as {@link #VERSION}. A release marks the row as free. Each client that releases a lock
     * also deletes rows that have been free for ten minutes. For any number of names that are used once. Not on MySQL,
     * which has no sequences.
     */
    UNIQUE_INDEX("unique", "holdfast_held"),

    /**
     * A row that a transaction keeps locked, in table {@code holdfast_row}. The transaction has a connection of its own
     * while the lock is held or waited for. The database's own queue wakes the next waiter at once, even when the holder
     * is killed. For a small number of locks with frequent hand-overs, or locks that must be free at once after a crash.
     * Each lock needs a connection, so the pool bounds their number.
     *
     * <p><b>A restart of the database, or the end of the holder's session, frees the lock before the holder detects
     * it.</b> The holder detects it at its next renewal, up to a third of the lease later. Meanwhile others may hold the
     * lock, with higher tokens. The leases of the other strategies survive a restart. Not with a proxy that pools
     * transactions, not on a cluster of several servers that accept writes, not on H2.
     */
    ROW_LOCK("row", "holdfast_row");

    /** Leaves room for the suffix of the sequence's name. */
    private static final int LONGEST_WITH_SEQUENCE = 57;

    private final String prefix;
    private final String table;

    JdbcStrategy(String prefix, String table) {
        this.prefix = prefix;
        this.table = table;
    }

    TableName defaultTable() {
        return new TableName(table);
    }

    /** The columns that the statements use. */
    String columns(Dialect dialect) {
        if (this == ROW_LOCK) {
            return "name, part, token, session, since, holder";
        }
        return "name, owner, token, lease_millis, expires, since, holder"
                + (this == VERSION ? ", shares" : "")
                + (dialect == Dialect.POSTGRESQL ? ", awaited" : "");
    }

    /** The name of the file with the table's definition. */
    String file(Dialect dialect) {
        boolean sequence = this == UNIQUE_INDEX && dialect == Dialect.MARIADB;
        return prefix + "-" + (sequence ? "mariadb" : dialect.family()) + ".sql";
    }

    /**
     * Refuses an unsupported combination of strategy, database and table name.
     *
     * @throws LockConfigurationException if the database or the table's name does not suit this strategy
     */
    void requireSupported(Dialect dialect, TableName name) {
        if (this == ROW_LOCK && dialect == Dialect.H2) {
            throw new LockConfigurationException(
                    "strategy ROW_LOCK is not for H2, whose row locks were seen to have two"
                            + " holders, and which does not end a silent session; use strategy VERSION");
        }
        if (this == UNIQUE_INDEX && dialect == Dialect.MYSQL) {
            throw new LockConfigurationException(
                    "strategy UNIQUE_INDEX needs sequences, which MySQL does not have; use strategy VERSION");
        }
        if (this == UNIQUE_INDEX && name.local().length() > LONGEST_WITH_SEQUENCE) {
            throw new LockConfigurationException("lock table '" + name + "': with strategy UNIQUE_INDEX the name must"
                    + " have at most " + LONGEST_WITH_SEQUENCE + " characters; shorten it");
        }
    }
}
