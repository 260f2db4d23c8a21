package dev.holdfast.lock.jdbc.internal.dialect;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.jdbc.JdbcStrategy;
import dev.holdfast.lock.jdbc.internal.connection.RecordedDb;
import dev.holdfast.lock.jdbc.internal.connection.RecordedDb.Answer;
import dev.holdfast.lock.jdbc.internal.rowlock.LockedRowBackend;
import dev.holdfast.lock.spi.LockBackend;
import java.sql.SQLException;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;

/** A backend of row locks that may keep one connection, on a database whose answers are written down. */
public abstract class RecordedRowLocks {
    public static final String NAME = "orders/42";
    public static final String TRY = "SKIP LOCKED), (SELECT token";
    public static final String WAIT = "FOR UPDATE OF held";
    public static final String COUNT_NEXT = "? RETURNING token";
    public static final String COUNT = "1 RETURNING token";
    public static final String BEAT = "SELECT pg_catalog.pg_backend_pid()";

    public final RecordedDb db = new RecordedDb(DatabaseDialects.POSTGRESQL);
    public final AtomicBoolean closed = new AtomicBoolean();
    public final LockBackend backend =
            LockedRowBackend.of(db.open(JdbcStrategy.ROW_LOCK, () -> closed.set(true)), 1, 5_000);

    @AfterEach
    void close() {
        backend.close();
    }

    /** The row is free, and the token was read under its lock. */
    public final void free(long seen) {
        db.on(TRY, call -> Answer.row(11L, seen, true)).on(COUNT_NEXT, call -> Answer.row(seen + 1));
    }

    public final void taken() {
        db.on(TRY, call -> Answer.row(null, 4L, true));
    }

    public final void beat(RecordedDb.Script script) {
        db.on(BEAT, call -> call.sql().equals(BEAT) ? script.to(call) : null);
    }

    public final List<String> kinds() {
        return db.calls().stream()
                .map(call -> call.has(TRY)
                        ? "try"
                        : call.has(WAIT)
                                ? "wait"
                                : call.has(COUNT_NEXT)
                                        ? "next"
                                        : call.has(COUNT) ? "count" : call.sql().equals(BEAT) ? "beat" : call.sql())
                .toList();
    }

    public static SQLException broken() {
        return new SQLException("broken", "08006");
    }

    public static void await(CountDownLatch latch) {
        try {
            assertThat(latch.await(60, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
