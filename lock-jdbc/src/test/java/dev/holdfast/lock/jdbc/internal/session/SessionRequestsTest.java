package dev.holdfast.lock.jdbc.internal.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.jdbc.JdbcStrategy;
import dev.holdfast.lock.jdbc.internal.connection.Database;
import dev.holdfast.lock.jdbc.internal.connection.RecordedDb;
import dev.holdfast.lock.jdbc.internal.connection.Threads;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialects;
import dev.holdfast.lock.jdbc.internal.sql.SessionKey;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.OwnerId;
import java.sql.SQLTransientConnectionException;
import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The requests of one session, when no thread of the client can send them. */
final class SessionRequestsTest {
    private final ExecutorService executor = Threads.unbounded("test-session-");
    private final RecordedDb db = new RecordedDb(DatabaseDialects.POSTGRESQL);
    private final Database database = db.open(JdbcStrategy.SESSION);
    private final SessionLocks locks = new SessionLocks(
            database,
            Objects.requireNonNull(DatabaseDialects.POSTGRESQL.sessionStatements(database.table())),
            "place",
            2,
            executor,
            5_000);

    @AfterEach
    void stop() {
        executor.shutdownNow();
    }

    private <T> SessionRequest<T> request() {
        AcquisitionId id = new AcquisitionId("n", OwnerId.random(), Demand.EXCLUSIVE);
        SessionAcquisition acquisition = new SessionAcquisition(locks, id, SessionKey.of("place", "n"));
        return new SessionRequest<>(acquisition, 1_000, inAMinute());
    }

    private static long inAMinute() {
        return System.nanoTime() + TimeUnit.MINUTES.toNanos(1);
    }

    private static void assertClosed(SessionRequest<?> request) {
        assertThat(request.await(System.nanoTime()))
                .as("it is answered at once")
                .isTrue();
        assertThatThrownBy(request::answer)
                .isInstanceOf(SQLTransientConnectionException.class)
                .hasMessage("the client is closed");
    }

    /** The caller of each would wait for its time-out otherwise. */
    @Test
    void requests_thatNoThreadCanSend_failAtOnce_releasesToo() {
        SessionRequests requests = new SessionRequests(
                task -> {
                    throw new RejectedExecutionException("on purpose");
                },
                new Sender());
        SessionRequest<OptionalLong> lock = request();
        SessionRequest<Boolean> unlock = request();

        requests.lock(lock, false);
        requests.unlock(unlock, false);

        assertClosed(lock);
        assertClosed(unlock);
    }

    /** Nothing is sent in these tests. */
    private static final class Sender implements SessionRequests.Sender {
        @Override
        public void sendLocks(List<SessionRequest<OptionalLong>> wanted) {
            throw new AssertionError("nothing can be sent");
        }

        @Override
        public void sendUnlocks(List<SessionRequest<Boolean>> released) {
            throw new AssertionError("nothing can be sent");
        }

        @Override
        public boolean isPausing() {
            return false;
        }

        @Override
        public boolean enterAlone(SessionRequest<?> request) {
            return false;
        }

        @Override
        public void leave() {}
    }
}
