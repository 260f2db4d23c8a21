package dev.holdfast.lock.jdbc.internal.sql;

import dev.holdfast.lock.jdbc.internal.rowlock.RowSession;

/**
 * The statements of strategy "row lock", by dialect. Immutable.
 *
 * <p>On PostgreSQL the time-outs travel with the statement and end with its transaction. MySQL and MariaDB have them in the
 * session, where {@link RowSession} sets them. The lock's row is found by its whole primary key and exists, so that InnoDB
 * locks that record alone, without the gap next to it.
 *
 * @param tryLock locks part 0 if that needs no wait, and reads the token in part 1
 * @param waitLock locks part 0 in the database's queue, for {@link #SLICE_SECONDS} at most
 * @param mint counts the token in part 1
 * @param mintNext counts it if it is still the one that was read
 * @param insert makes both parts unless they are there
 * @param info token, identity and since of the last holder
 * @param probe finds part 0 unless another session has locked it
 */
public record RowStatements(
        String tryLock, String waitLock, String mint, String mintNext, String insert, String info, String probe) {

    /**
     * How long one statement waits before the next one starts at the end of the queue. Long, since the order of the waiters is kept
     * only within it. Not longer, because a proxy ends a connection that was silent for a while, often for a minute.
     */
    public static final int SLICE_SECONDS = 45;
}
