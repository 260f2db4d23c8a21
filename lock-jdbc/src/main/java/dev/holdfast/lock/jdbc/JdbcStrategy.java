package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.jdbc.internal.dialect.LockTable;

/** How the database keeps a lock. */
public enum JdbcStrategy {
    /**
     * One permanent row per name, which counts the name's fencing tokens; the default, in table {@code holdfast_lock}. It
     * takes one statement to acquire and one to release, and keeps no transaction or connection in between. For names
     * that are used repeatedly, since each name ever used keeps a row.
     */
    VERSION,

    /**
     * One row per name in use, unique by name, in table {@code holdfast_held}. The fencing tokens of all names come from
     * one sequence. Costs the same as {@link #VERSION}. A release marks the row as free. Each client that releases a lock
     * also deletes rows that have been free for ten minutes. For any number of names that are used once. Not on MySQL,
     * which has no sequences.
     */
    UNIQUE_INDEX,

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
    ROW_LOCK;

    /** The strategy's table and its statements. */
    LockTable table() {
        return LockTable.valueOf(name());
    }
}
