package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.LockConfigurationException;

/** How the database keeps a lock. */
public enum JdbcStrategy {
    /**
     * One row per name that stays for ever and counts the name's fencing tokens; the default, in table
     * {@code holdfast_lock}. One statement to acquire, one to release, no transaction or connection kept meanwhile. For
     * names that are used repeatedly: each name ever used keeps a row.
     */
    VERSION("version", "holdfast_lock"),

    /**
     * One row per name in use, unique by the name, in table {@code holdfast_held}; the fencing tokens of all names come
     * from one sequence. Costs as much as {@link #VERSION}. A release marks the row as free; rows that nobody has held
     * for ten minutes are deleted by any client that releases a lock. For any number of names that are used once. Not
     * on MySQL, which has no sequences.
     */
    UNIQUE_INDEX("unique", "holdfast_held"),

    /**
     * A row that a transaction keeps locked, open on a connection of its own for as long as the lock is held or waited
     * for; table {@code holdfast_row}. The database's own queue wakes the next waiter at once, also when the holder is
     * killed. For a small number of locks with frequent hand-overs, or that must be free at once after a crash: each
     * needs a connection, so that the pool bounds their number.
     *
     * <p><b>A restart of the database, or the end of the holder's session, frees it before the holder knows:</b> at its next
     * renewal, a third of the lease later. Others may hold it meanwhile, with higher tokens; the leases of the other strategies
     * survive a restart. Not with a proxy that pools transactions, not on a cluster of several servers that accept writes, not
     * on H2.
     */
    ROW_LOCK("row", "holdfast_row");

    /** Leaves room for the sequence's name beside the table's. */
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

    /** The file that describes the table. */
    String file(Dialect dialect) {
        boolean sequence = this == UNIQUE_INDEX && dialect == Dialect.MARIADB;
        return prefix + "-" + (sequence ? "mariadb" : dialect.family()) + ".sql";
    }

    /**
     * Refuses what cannot work.
     *
     * @throws LockConfigurationException if the database or the table's name does not suit this strategy
     */
    void requireSupported(Dialect dialect, TableName name) {
        if (this == ROW_LOCK && dialect == Dialect.H2) {
            throw new LockConfigurationException(
                    "strategy ROW_LOCK is not for H2, whose row locks were seen to have two"
                            + " holders, and which does not end a session that fell silent; use strategy VERSION");
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
