package dev.holdfast.lock.jdbc.internal.session;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.jdbc.internal.connection.Connections;
import dev.holdfast.lock.jdbc.internal.connection.RecordedDb;
import dev.holdfast.lock.jdbc.internal.connection.RecordedDb.Answer;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialect;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialects;
import dev.holdfast.lock.jdbc.internal.dialect.LockTable;
import java.sql.SQLException;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** How a connection whose session has locks is given back. */
final class LockSessionTest {
    private final DatabaseDialect dialect = DatabaseDialects.POSTGRESQL;
    private final RecordedDb db = new RecordedDb(dialect).on("pg_backend_pid", call -> Answer.row(7L));

    private static long inAMinute() {
        return System.nanoTime() + TimeUnit.MINUTES.toNanos(1);
    }

    /** Of a pool whose connections do not commit each statement, so that this is restored. */
    private LockSession open() throws SQLException {
        db.autoCommit = false;
        LockSession session = LockSession.open(
                Connections.shared(db.dataSource(), 5_000),
                dialect,
                Objects.requireNonNull(dialect.sessionStatements(LockTable.SESSION.defaultTable())),
                60_000,
                inAMinute());
        db.forget();
        return session;
    }

    @Test
    void giveBack_closesTheConnectionAsItCame() throws Exception {
        LockSession session = open();

        session.giveBack(inAMinute());

        assertThat(db.events()).endsWith("1 setAutoCommit false", "1 close").doesNotContain("1 abort");
    }

    @Test
    void giveBack_fails_endsTheConnection() throws Exception {
        LockSession session = open();
        db.before = (connection, method) -> {
            if (method.equals("setAutoCommit")) {
                throw new SQLException("broken", "08006");
            }
        };

        session.giveBack(inAMinute());

        assertThat(db.events()).endsWith("1 abort", "1 close");
    }

    /** HikariCP warns of a connection that has ended, and a log may throw. */
    @Test
    void giveBack_itsPoolsLogThrows_endsTheConnection() throws Exception {
        LockSession session = open();
        db.before = (connection, method) -> {
            if (method.equals("setAutoCommit")) {
                throw new IllegalStateException("the log is full");
            }
        };

        session.giveBack(inAMinute());

        assertThat(db.events()).endsWith("1 abort", "1 close");
    }
}
