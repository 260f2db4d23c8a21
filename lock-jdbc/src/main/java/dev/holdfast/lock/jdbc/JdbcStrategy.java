package dev.holdfast.lock.jdbc;

/** How a lock is kept in the database. */
public enum JdbcStrategy {
    /**
     * One row a name that stays for ever and counts the fencing tokens; the default. One statement to acquire, one to
     * release, no transaction or connection kept meanwhile. For names that come back; each name ever used costs a row.
     */
    VERSION
}
