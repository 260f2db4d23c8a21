package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.jdbc.internal.dialect.Db;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** One server of each kind for the tests that do not disturb it, started when first needed. */
public enum SharedDb {
    H2(Db::h2Memory),
    POSTGRESQL(() -> Db.postgres("log_statement=all")),
    MARIADB(() -> Db.mariadb("mariadb")),
    /** The same server as {@link #MARIADB}. */
    MARIADB_BY_MYSQL_DRIVER(() -> MARIADB.db().byDriver("mysql"));

    private static final ReentrantLock LOCK = new ReentrantLock();
    private static final AtomicInteger TABLES = new AtomicInteger();

    private final Callable<Db> start;
    private @Nullable Db db;

    SharedDb(Callable<Db> start) {
        this.start = start;
    }

    public Db db() throws Exception {
        LOCK.lock();
        try {
            if (db == null) {
                db = start.call();
            }
            return db;
        } finally {
            LOCK.unlock();
        }
    }

    /** The name of a table that no other test uses. */
    public static String newTable() {
        return "locks_" + TABLES.incrementAndGet();
    }
}
