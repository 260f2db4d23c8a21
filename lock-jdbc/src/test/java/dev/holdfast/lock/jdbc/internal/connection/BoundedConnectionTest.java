package dev.holdfast.lock.jdbc.internal.connection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.sql.SQLRecoverableException;
import java.sql.SQLTransientConnectionException;
import java.sql.Statement;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Which calls get the time that is left as their network time-out, and which are not begun when none is. */
final class BoundedConnectionTest {
    private static final int UNTOUCHED = -7;

    private final ScriptedDatabase scripted = ScriptedDatabase.postgres();

    private interface Call {
        void on(Connection connection) throws SQLException;
    }

    private static long inAMinute() {
        return System.nanoTime() + TimeUnit.MINUTES.toNanos(1);
    }

    private static long passed() {
        return System.nanoTime() - TimeUnit.SECONDS.toNanos(1);
    }

    @Test
    void calls_thatMayAskTheServer_haveWhatIsLeft() throws SQLException {
        Map<String, Call> bounded = new LinkedHashMap<>();
        bounded.put("createStatement", Connection::createStatement);
        bounded.put("prepareStatement", connection -> connection.prepareStatement("SELECT 1"));
        bounded.put("commit", Connection::commit);
        bounded.put("rollback", Connection::rollback);
        bounded.put("setAutoCommit", connection -> connection.setAutoCommit(false));
        bounded.put("isReadOnly", Connection::isReadOnly);
        bounded.put("setReadOnly", connection -> connection.setReadOnly(true));
        bounded.put("getTransactionIsolation", Connection::getTransactionIsolation);
        for (Map.Entry<String, Call> each : bounded.entrySet()) {
            scripted.networkTimeoutMillis(UNTOUCHED);
            each.getValue().on(BoundedConnection.of(scripted.connection(), inAMinute()));
            assertThat(scripted.networkTimeoutMillis()).as(each.getKey()).isBetween(1, 60_000);
        }
        Map<String, Call> local = new LinkedHashMap<>();
        local.put("getAutoCommit", Connection::getAutoCommit);
        local.put("getNetworkTimeout", Connection::getNetworkTimeout);
        local.put("isWrapperFor", connection -> connection.isWrapperFor(Connection.class));
        for (Map.Entry<String, Call> each : local.entrySet()) {
            scripted.networkTimeoutMillis(UNTOUCHED);
            each.getValue().on(BoundedConnection.of(scripted.connection(), inAMinute()));
            assertThat(scripted.networkTimeoutMillis()).as(each.getKey()).isEqualTo(UNTOUCHED);
        }
        BoundedConnection.of(scripted.connection(), inAMinute()).setNetworkTimeout(Runnable::run, 5);
        assertThat(scripted.networkTimeoutMillis()).isEqualTo(5);
    }

    /** What puts a connection back as it was still has a moment. */
    @Test
    void deadlineHasPassed_nothingIsBegun() throws SQLException {
        Connection late = BoundedConnection.of(scripted.connection(), passed());
        Map<String, Call> begins = new LinkedHashMap<>();
        begins.put("createStatement", Connection::createStatement);
        begins.put("prepareStatement", connection -> connection.prepareStatement("SELECT 1"));
        begins.put("commit", Connection::commit);
        begins.forEach((name, call) -> assertThatThrownBy(() -> call.on(late))
                .as(name)
                .isInstanceOfSatisfying(SQLTransientConnectionException.class, refused -> {
                    assertThat(refused.getMessage()).isEqualTo("no time is left for another statement");
                    assertThat(refused.getSQLState()).isEqualTo("08000");
                }));
        assertThat(scripted.calls).isEmpty();

        late.rollback();
        late.setAutoCommit(false);
        assertThat(scripted.networkTimeoutMillis()).isEqualTo(1);
        assertThat(scripted.calls).containsExactly("rollback", "setAutoCommit false");
    }

    /** A statement that is executed several times; one that is prepared is executed once, where it was. */
    @Test
    void statement_eachExecution_hasWhatIsLeft() throws Exception {
        try (Statement statement =
                BoundedConnection.of(scripted.connection(), inAMinute()).createStatement()) {
            scripted.networkTimeoutMillis(UNTOUCHED);
            statement.execute("SELECT 1");
            assertThat(scripted.networkTimeoutMillis()).isBetween(1, 60_000);
            scripted.networkTimeoutMillis(UNTOUCHED);
            statement.getUpdateCount();
            assertThat(scripted.networkTimeoutMillis()).as("no request").isEqualTo(UNTOUCHED);
        }
        try (Statement ending = endingSoon()) {
            assertThatThrownBy(() -> ending.executeQuery("SELECT 2")).hasMessageContaining("no time is left");
        }
        assertThat(scripted.statements()).containsExactly("SELECT 1");
        try (PreparedStatement prepared =
                BoundedConnection.of(scripted.connection(), inAMinute()).prepareStatement("SELECT 3")) {
            scripted.networkTimeoutMillis(UNTOUCHED);
            prepared.execute();
            assertThat(scripted.networkTimeoutMillis()).isEqualTo(UNTOUCHED);
        }
    }

    /** A statement whose deadline has passed since it was made. */
    private Statement endingSoon() throws SQLException {
        while (true) {
            long deadlineNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(5);
            try {
                Statement statement = BoundedConnection.of(scripted.connection(), deadlineNanos)
                        .createStatement();
                while (System.nanoTime() - deadlineNanos < 0) {
                    Thread.onSpinWait();
                }
                return statement;
            } catch (SQLTransientConnectionException e) {
                // The machine is busy: it had passed before.
            }
        }
    }

    @Test
    void failures_areTheDriversOwn() throws SQLException {
        SQLException refused = new SQLException("refused");
        scripted.refuse("commit", refused).refuse("SELECT 1", refused);
        Connection connection = BoundedConnection.of(scripted.connection(), inAMinute());
        assertThatThrownBy(connection::commit).isSameAs(refused);
        try (Statement statement = connection.createStatement()) {
            assertThatThrownBy(() -> statement.execute("SELECT 1")).isSameAs(refused);
        }
    }

    /** By itself the pool goes by the state alone, of which H2 has none for a broken connection. */
    @Test
    void brokenConnections_areThrownAway() {
        BrokenConnections broken = new BrokenConnections();
        var evict = com.zaxxer.hikari.SQLExceptionOverride.Override.MUST_EVICT;
        var usual = com.zaxxer.hikari.SQLExceptionOverride.Override.CONTINUE_EVICT;
        assertThat(broken.adjudicate(new SQLNonTransientConnectionException("broken")))
                .isEqualTo(evict);
        assertThat(broken.adjudicate(new SQLRecoverableException("broken"))).isEqualTo(evict);
        assertThat(broken.adjudicate(new SQLTransientConnectionException("may pass")))
                .isEqualTo(usual);
        assertThat(broken.adjudicate(new SQLException("08S01", "08S01"))).isEqualTo(usual);
    }
}
