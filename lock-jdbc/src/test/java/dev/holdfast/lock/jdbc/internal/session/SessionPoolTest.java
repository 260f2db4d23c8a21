package dev.holdfast.lock.jdbc.internal.session;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.jdbc.internal.connection.Connections;
import dev.holdfast.lock.jdbc.internal.connection.RecordedDb;
import dev.holdfast.lock.jdbc.internal.connection.RecordedDb.Answer;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialect;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialects;
import dev.holdfast.lock.jdbc.internal.dialect.LockTable;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** What becomes of the connections of a client that is closed. */
final class SessionPoolTest {
    private final DatabaseDialect dialect = DatabaseDialects.POSTGRESQL;
    private final RecordedDb db = new RecordedDb(dialect).on("pg_backend_pid", call -> Answer.row(7L));
    private final SessionPool pool = new SessionPool(
            Connections.shared(db.dataSource(), 5_000),
            dialect,
            Objects.requireNonNull(dialect.sessionStatements(LockTable.SESSION.defaultTable())),
            1,
            Runnable::run,
            ended -> {});

    /** A session that is used for a moment, and holds nothing. */
    private HoldingSession usedSession() throws Exception {
        long inAMinute = System.nanoTime() + TimeUnit.MINUTES.toNanos(1);
        HoldingSession session = pool.enter(60_000, inAMinute, inAMinute);
        pool.leave();
        return session;
    }

    @Test
    void close_beforeTheThreadThatSentTheLastRelease_hasEndedItsTurn_returnsTheConnection() throws Exception {
        HoldingSession session = usedSession();
        CountDownLatch answered = new CountDownLatch(1);
        Thread sender = new Thread(() -> {
            session.enterAlone(new SessionRequest<>(null, 60_000, 0));
            answered.countDown();
            try {
                TimeUnit.MILLISECONDS.sleep(200); // a busy machine lets it wait
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            session.leave();
        });
        sender.start();
        answered.await();

        pool.close();
        sender.join();

        assertThat(db.events()).contains("1 close").doesNotContain("1 abort");
    }

    @Test
    void close_whileAStatementGetsNoAnswer_endsTheConnection() throws Exception {
        HoldingSession session = usedSession();
        Thread sender = new Thread(() -> session.enterAlone(new SessionRequest<>(null, 60_000, 0)));
        sender.start();
        sender.join(); // and never leaves

        pool.close();

        assertThat(db.events()).contains("1 abort");
    }
}
