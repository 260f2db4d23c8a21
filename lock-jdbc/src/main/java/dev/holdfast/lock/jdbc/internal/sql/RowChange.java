package dev.holdfast.lock.jdbc.internal.sql;

/** The result of a statement that releases or changes a row. */
public enum RowChange {
    /** Nothing was changed: the row was not as expected. */
    NONE,
    DONE,
    /** The row was changed, and a waiter has announced itself. */
    DONE_AND_AWAITED
}
