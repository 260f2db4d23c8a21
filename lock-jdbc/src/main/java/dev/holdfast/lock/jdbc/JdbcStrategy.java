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
    ROW_LOCK,

    /**
     * A lock of the database's own: an advisory lock of PostgreSQL, or a user lock ({@code GET_LOCK}) of MariaDB. The fencing
     * tokens come from a sequence; the table {@code holdfast_session} only tells people who holds what. A lock costs one
     * statement and no commit. One connection of the client holds all locks that were free when they were acquired; each lock
     * that was waited for has another one. The database's own queue wakes the next waiter at once, and the locks of a process
     * that crashed are free at once. For many short locks, or frequent hand-overs. PostgreSQL has read locks as well; MariaDB has
     * none, and neither has semaphores.
     *
     * <p><b>If the database ends the session or restarts, all locks of the session are free before the holder detects it.</b> The
     * holder detects it with its next heartbeat, half a second and a round trip later at most. Meanwhile others may hold the
     * locks, with higher tokens. Not with a proxy that pools connections, not on a cluster of several servers that accept
     * writes, not on MySQL, which has no sequences, and not on H2.
     */
    SESSION;

    /** The strategy's table and its statements. */
    LockTable table() {
        return LockTable.valueOf(name());
    }
}
