package dev.holdfast.lock.jdbc;

/** How the database keeps a lock. */
public enum JdbcStrategy {
    /**
     * One row per name that stays for ever and counts the name's fencing tokens; the default, in table
     * {@code holdfast_lock}. One statement to acquire, one to release, no transaction or connection kept meanwhile. For
     * names that are used repeatedly: each name ever used keeps a row.
     */
    VERSION,

    /**
     * One row per name in use, unique by the name, in table {@code holdfast_held}; the fencing tokens of all names come
     * from one sequence. Costs as much as {@link #VERSION}. A release marks the row as free; rows that nobody has held
     * for ten minutes are deleted by any client that releases a lock. For any number of names that are used once. Not
     * on MySQL, which has no sequences.
     */
    UNIQUE_INDEX,

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
    ROW_LOCK;

    /** The strategy's table and its statements. */
    LockTable table() {
        return LockTable.valueOf(name());
    }
}
