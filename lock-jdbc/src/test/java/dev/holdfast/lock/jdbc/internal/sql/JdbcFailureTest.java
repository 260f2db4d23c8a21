package dev.holdfast.lock.jdbc.internal.sql;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialects;
import java.sql.SQLException;
import java.sql.SQLSyntaxErrorException;
import java.sql.SQLTransientConnectionException;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

final class JdbcFailureTest {

    @Test
    @DisplayName(
            "What MariaDB's driver says to a call on a connection that it has lost may pass, also as a pool repeats it")
    void of_closedConnection_unavailable() {
        SQLException driver = new SQLSyntaxErrorException(
                "Connection.setNetworkTimeout cannot be called on a closed connection", "42000", 0);
        SQLException pool = new SQLTransientConnectionException(
                "holdfast - Connection is not available, request timed out after 1001ms", "42000", driver);

        assertThat(DatabaseDialects.failure(driver)).isEqualTo(JdbcFailure.UNAVAILABLE);
        assertThat(DatabaseDialects.failure(pool)).isEqualTo(JdbcFailure.UNAVAILABLE);
    }

    @Test
    @DisplayName("What a server refuses is refused, also as a pool repeats it")
    void of_refusedStatement_refused() {
        SQLException server = new SQLSyntaxErrorException("You have an error in your SQL syntax", "42000", 1064);
        SQLException pool = new SQLTransientConnectionException("no connection", "42000", server);

        assertThat(DatabaseDialects.failure(server)).isEqualTo(JdbcFailure.REFUSED);
        assertThat(DatabaseDialects.failure(pool)).isEqualTo(JdbcFailure.REFUSED);
        assertThat(DatabaseDialects.failure(new SQLException("syntax error", "42601")))
                .isEqualTo(JdbcFailure.REFUSED);
    }

    @Test
    @DisplayName("The message for a rejected user says so, through a pool as well")
    void of_refusedLogin_noAccess() {
        SQLException server = new SQLException("Access denied for user", "28000", 1045);
        assertThat(DatabaseDialects.failure(new SQLTransientConnectionException("no connection", "28000", server)))
                .isEqualTo(JdbcFailure.NO_ACCESS);
    }
}
