package dev.holdfast.lock.jdbc.internal.connection;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.LockClosedException;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialects;
import dev.holdfast.lock.jdbc.internal.dialect.LockTable;
import dev.holdfast.lock.jdbc.internal.dialect.Schema;
import dev.holdfast.lock.jdbc.internal.sql.JdbcFailure;
import dev.holdfast.lock.jdbc.internal.sql.TableName;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.sql.SQLException;
import java.sql.SQLInvalidAuthorizationSpecException;
import java.sql.SQLTransientException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What the codes of four databases mean, and what is said of each. */
final class JdbcFailureTranslatorTest {

    @ParameterizedTest
    @CsvSource({
        "40001, 0, CONFLICT",
        "40P01, 0, CONFLICT",
        "55P03, 0, CONFLICT",
        "HY000, 1213, CONFLICT",
        "HY000, 1205, CONFLICT",
        "HY000, 1020, CONFLICT",
        "HY000, 3572, CONFLICT",
        "HYT00, 50200, CONFLICT",
        "90131, 90131, CONFLICT",
        "25006, 0, READ_ONLY",
        "HY000, 1792, READ_ONLY",
        "42P01, 0, NO_TABLE",
        "42703, 0, NO_TABLE",
        "42S02, 0, NO_TABLE",
        "42S22, 0, NO_TABLE",
        "42S03, 0, NO_TABLE",
        "42S04, 0, NO_TABLE",
        "3F000, 0, NO_TABLE",
        "HY000, 1146, NO_TABLE",
        "HY000, 1054, NO_TABLE",
        "HY000, 42102, NO_TABLE",
        "HY000, 42103, NO_TABLE",
        "HY000, 42104, NO_TABLE",
        "HY000, 42122, NO_TABLE",
        "42501, 0, NO_PERMISSION",
        "HY000, 1142, NO_PERMISSION",
        "HY000, 1143, NO_PERMISSION",
        "HY000, 1370, NO_PERMISSION",
        "HY000, 90096, NO_PERMISSION",
        "3D000, 0, NO_ACCESS",
        "28P01, 0, NO_ACCESS",
        "HY000, 1044, NO_ACCESS",
        "HY000, 1045, NO_ACCESS",
        "HY000, 1049, NO_ACCESS",
        "HY000, 1698, NO_ACCESS",
        "HY000, 90146, NO_ACCESS",
        "08004, 0, NO_ACCESS",
        "08004, 1040, UNAVAILABLE",
        "HY000, 90020, IN_USE",
        "42P05, 0, SHARED_NAMES",
        "26000, 0, SHARED_NAMES",
        "08P01, 0, UNAVAILABLE",
        "22003, 0, OUT_OF_RANGE",
        "22001, 1690, OUT_OF_RANGE",
        "HY000, 90036, NO_TABLE",
        "42601, 0, REFUSED",
        "0A000, 0, REFUSED",
        "22001, 0, REFUSED",
        "08006, 0, UNAVAILABLE",
        ", 0, UNAVAILABLE",
        "S1009, 0, UNAVAILABLE"
    })
    void of_codes(String state, int code, JdbcFailure failure) {
        assertThat(DatabaseDialects.failure(new SQLException("said", state, code)))
                .isEqualTo(failure);
    }

    @Test
    void of_whatIsSaid() {
        assertThat(DatabaseDialects.failure(new SQLException("Connection is read-only", "S1009")))
                .isEqualTo(JdbcFailure.READ_ONLY);
        for (String said : new String[] {
            "The server does not support SSL.",
            "ssl not enabled in the server",
            "SSL Connection required, but not provided"
        }) {
            assertThat(DatabaseDialects.failure(new SQLException(said, "08004")))
                    .isEqualTo(JdbcFailure.NO_TLS);
        }
        for (String said : new String[] {
            "HikariDataSource HikariDataSource (x) has been closed.", "Data source is closed", "Pool closed"
        }) {
            assertThat(DatabaseDialects.failure(new SQLException(said)))
                    .as(said)
                    .isEqualTo(JdbcFailure.CLOSED);
            assertThat(DatabaseDialects.failure(new SQLException(said, "08003")))
                    .isEqualTo(JdbcFailure.UNAVAILABLE);
            assertThat(DatabaseDialects.failure(new SQLException(said, null, 1)))
                    .isEqualTo(JdbcFailure.UNAVAILABLE);
        }
        assertThat(DatabaseDialects.failure(new SQLException(
                        "ERROR: bind message supplies 3 parameters, but prepared statement \"S_2\" requires 5",
                        "08P01")))
                .isEqualTo(JdbcFailure.SHARED_NAMES);
        assertThat(DatabaseDialects.failure(new SQLException("pool: this connection is closed")))
                .isEqualTo(JdbcFailure.UNAVAILABLE);
        assertThat(DatabaseDialects.failure(new SQLInvalidAuthorizationSpecException("no")))
                .isEqualTo(JdbcFailure.NO_ACCESS);
        assertThat(DatabaseDialects.failure(new SQLTransientException("made here", "42000", 5)))
                .isEqualTo(JdbcFailure.UNAVAILABLE);
        assertThat(DatabaseDialects.failure(new IOException())).isEqualTo(JdbcFailure.UNAVAILABLE);
    }

    @Test
    void of_chained_theOneThatSaysSomething() {
        SQLException first = new SQLException("batch");
        first.setNextException(new SQLException("no table", "42P01"));
        assertThat(DatabaseDialects.failure(new IllegalStateException(first))).isEqualTo(JdbcFailure.NO_TABLE);
        SQLException known = new SQLException("no table", "42P01", new SQLException("reset", "08006"));
        assertThat(DatabaseDialects.failure(known)).isEqualTo(JdbcFailure.NO_TABLE);
        assertThat(JdbcFailure.isTimeOut(new SQLException("x", new SocketTimeoutException())))
                .isTrue();
        assertThat(JdbcFailure.isTimeOut(new SQLException("x", new IOException())))
                .isFalse();
    }

    @ParameterizedTest
    @CsvSource({
        "28P01, true, the database refuses the connection, 'check the user, the password and the database''s name'",
        "25006, false, the database accepts no writes, a standby? lead the data source to the primary; or its administrator has made it read-only",
        "42P01, true, the database refuses the statement, 'check its version and the table''s columns against the schema file'",
        "42501, true, the database refuses the statement, 'check its version and the table''s columns against the schema file'",
        "42601, true, the database refuses the statement, 'check its version and the table''s columns against the schema file'",
        "40001, false, other transactions of the database conflicted with every attempt, do not keep transactions open on the lock table",
        "08006, false, no usable answer from the database, 'the outcome is unknown; check the server, the network and the"
                + " pool''s size'"
    })
    void message_hasARemedy(String state, boolean configuration, String message, String remedy) {
        SQLException failure = new SQLException("said so", state);
        RuntimeException translated = JdbcFailureTranslator.CONNECTING.translate("attempt", failure);
        assertThat(translated)
                .isInstanceOf(configuration ? LockConfigurationException.class : LockUnavailableException.class)
                .hasMessageStartingWith("attempt: " + message)
                .hasMessageContaining("(said so)")
                .hasMessageEndingWith(remedy)
                .hasCause(failure);
    }

    @Test
    void message_ofOtherFailures() {
        assertThat(JdbcFailureTranslator.CONNECTING.translate("", new SQLException("said", "x", 90020)))
                .isInstanceOf(LockConfigurationException.class)
                .hasMessage(
                        "the database is open in another process (said); write ;AUTO_SERVER=TRUE in all processes, or use"
                                + " H2's server");
        assertThat(JdbcFailureTranslator.CONNECTING.translate(
                        "", new SQLException("The server does not support SSL.", "08006")))
                .isInstanceOf(LockConfigurationException.class)
                .hasMessage(
                        "the database does not speak TLS (The server does not support SSL.); switch TLS on in the server,"
                                + " or off in the address, as its driver has it");
        SQLException closed = new SQLException("Pool closed");
        assertThat(JdbcFailureTranslator.CONNECTING.translate("", closed))
                .isInstanceOf(LockClosedException.class)
                .hasMessage("the data source was closed before the lock client; close the lock client first")
                .hasCause(closed);
        IllegalArgumentException ours = new IllegalArgumentException("ours");
        assertThat(JdbcFailureTranslator.CONNECTING.translate("", ours)).isSameAs(ours);
    }

    @Test
    void message_ofATable_namesItsNeeds() {
        Schema schema = new Schema(LockTable.VERSION, DatabaseDialects.POSTGRESQL, new TableName("t"));
        assertThat(JdbcFailureTranslator.of(schema).translate("", new SQLException("no table", "42P01")))
                .isInstanceOf(LockException.class)
                .hasMessageContaining("'t'");
        assertThat(JdbcFailureTranslator.of(schema, "me").translate("", new SQLException("no right", "42501")))
                .isInstanceOf(LockException.class)
                .hasMessageEndingWith(" ON t TO me");
        assertThat(JdbcFailureTranslator.of(schema).translate("", new SQLException("reset", "08006")))
                .hasMessageContaining("no usable answer from PostgreSQL");
    }

    @Test
    void of_aDatabaseWhoseTableIsNotOurs_isToldByItsName() {
        assertThat(JdbcFailureTranslator.CONNECTING.translate("", new SQLException("said", "08006")))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("the database")
                .hasMessageContaining("said");
    }
}
