package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.LockConfigurationException;

/** How a lock is kept in the database. */
public enum JdbcStrategy {
    /**
     * One row a name that stays for ever and counts the name's fencing tokens; the default, in table
     * {@code holdfast_lock}. One statement to acquire, one to release, no transaction or connection kept meanwhile. For
     * names that come back: each name ever used keeps a row.
     */
    VERSION("version", "holdfast_lock"),

    /**
     * One row a name in use, unique by the name, in table {@code holdfast_held}; the fencing tokens of all names come from
     * one sequence. Costs as much as {@link #VERSION}. A release marks the row as free; rows that nobody has held for ten
     * minutes are deleted by any client that is at work. For any number of names that are used once. Not on MySQL, which
     * has no sequences.
     */
    UNIQUE_INDEX("unique", "holdfast_held");

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
        if (this == UNIQUE_INDEX && dialect == Dialect.MYSQL) {
            throw new LockConfigurationException(
                    "strategy UNIQUE_INDEX needs sequences, which MySQL does not have; use strategy VERSION");
        }
        if (this == UNIQUE_INDEX && name.text().length() > LONGEST_WITH_SEQUENCE) {
            throw new LockConfigurationException("lock table '" + name + "': with strategy UNIQUE_INDEX the name must"
                    + " have at most " + LONGEST_WITH_SEQUENCE + " characters; shorten it");
        }
    }
}
