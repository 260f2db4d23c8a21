/** Locks on PostgreSQL, MySQL, MariaDB and H2. */
module dev.holdfast.lock.jdbc {
    requires transitive dev.holdfast.lock;
    requires transitive java.sql;
    requires static org.jspecify;
    requires com.zaxxer.hikari;
    requires org.slf4j;
    requires static org.postgresql.jdbc;

    exports dev.holdfast.lock.jdbc;

    provides dev.holdfast.lock.LockProvider with
            dev.holdfast.lock.jdbc.JdbcLockProvider;
}
