package dev.holdfast.lock.jdbc.internal.sql;

import dev.holdfast.lock.spi.support.FailureTranslator;
import java.net.SocketTimeoutException;
import java.sql.SQLException;
import java.sql.SQLInvalidAuthorizationSpecException;
import java.sql.SQLSyntaxErrorException;
import java.sql.SQLTransientException;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** What an {@link SQLException} means for a lock, whatever the database and its driver. */
public enum JdbcFailure {
    /** Another transaction was in the way and this one had no effect: try again. */
    CONFLICT,
    /** The connection, or the server, is read-only. */
    READ_ONLY,
    /** The table, a column of it or its sequence is not there. */
    NO_TABLE,
    /** The user may not do that to the table. */
    NO_PERMISSION,
    /** The database does not let the user in, or does not exist. */
    NO_ACCESS,
    /** The server does not speak TLS, which the address or the driver asks for. */
    NO_TLS,
    /** The data source was closed permanently. */
    CLOSED,
    /** Another process has the files of an H2 database. */
    IN_USE,
    /** PostgreSQL: the name of a prepared statement is that of another connection, or of none. */
    SHARED_NAMES,
    /** A number exceeds its type, as a token does that was drawn from a sequence behind its table. */
    OUT_OF_RANGE,
    /** A setting of the session or the server forbids the statement. */
    SETTING,
    /** The statement itself is refused: the table has another shape, or the version is not supported. */
    REFUSED,
    /** Everything else: no answer, no connection, or trouble that may pass. The outcome is unknown. */
    UNAVAILABLE;

    /** Of PostgreSQL's, MariaDB's and MySQL's driver; no SQL state and no code is theirs alone. */
    private static final Pattern NO_TLS_SAID = Pattern.compile(
            "server does not support SSL|ssl not enabled in the server|SSL Connection required, but not provided");

    /** MariaDB's and MySQL's code 1290 names the option of the server that forbids the statement. */
    private static final Pattern READ_ONLY_SAID = Pattern.compile("read[-_]only");

    /** Of HikariCP, Tomcat, DBCP and Agroal, without a state or a code; a connection that is closed is another matter. */
    private static final Pattern CLOSED_SAID =
            Pattern.compile("(?i)^(?=.*(?:data ?source|pool))(?!.*connection (?:is|has|was)).* closed\\W*$");

    /** Whether there was no answer in time, so that the outcome of the request is unknown. */
    public static boolean isTimeOut(Throwable failure) {
        return FailureTranslator.causes(failure).stream().anyMatch(SocketTimeoutException.class::isInstance);
    }

    /** Whether the server ended the statement and kept the connection: cancelled, or longer than the statements of this user may take. */
    public static boolean isCancelled(SQLException e) {
        return "57014".equals(e.getSQLState()) || Set.of(1317, 1969, 3024).contains(e.getErrorCode());
    }

    /** Looks through causes and next exceptions for the one that says most: pools wrap what the driver threw. */
    public static JdbcFailure of(Throwable failure) {
        JdbcFailure worst = UNAVAILABLE;
        for (Throwable cause : FailureTranslator.causes(failure)) {
            SQLException next = cause instanceof SQLException e ? e : null;
            while (next != null) {
                JdbcFailure found = ofOne(next);
                worst = found == UNAVAILABLE ? worst : found;
                next = next.getNextException() == next ? null : next.getNextException();
            }
        }
        return worst;
    }

    private static JdbcFailure ofOne(SQLException e) {
        if (NO_TLS_SAID.matcher(String.valueOf(e.getMessage())).find()) {
            return NO_TLS;
        }
        if (e.getSQLState() == null
                && e.getErrorCode() == 0
                && CLOSED_SAID.matcher(String.valueOf(e.getMessage())).find()) {
            return CLOSED;
        }
        if (e.getErrorCode() == 1290
                && READ_ONLY_SAID.matcher(String.valueOf(e.getMessage())).find()) {
            return READ_ONLY;
        }
        JdbcFailure byCode = ofVendorCode(e.getErrorCode());
        if (byCode != null) {
            return byCode;
        }
        String state = e.getSQLState() == null ? "" : e.getSQLState();
        return switch (state) {
            case "40001", "40P01", "55P03" -> CONFLICT;
            case "25006" -> READ_ONLY;
            case "S1009" -> String.valueOf(e.getMessage()).contains("read-only") ? READ_ONLY : UNAVAILABLE;
            case "42P01", "42703", "42S02", "42S22", "42S03", "42S04", "3F000" -> NO_TABLE;
            case "42P05", "26000" -> SHARED_NAMES;
            case "08P01" -> String.valueOf(e.getMessage()).contains("prepared statement") ? SHARED_NAMES : UNAVAILABLE;
            case "22003" -> OUT_OF_RANGE;
            case "42501" -> NO_PERMISSION;
            case "3D000" -> NO_ACCESS;
            // PostgreSQL's driver: no password was given. With a code it is MySQL's or MariaDB's: too many connections.
            case "08004" -> e.getErrorCode() == 0 ? NO_ACCESS : UNAVAILABLE;
            default -> ofClass(state, e);
        };
    }

    private static JdbcFailure ofClass(String state, SQLException e) {
        if (state.startsWith("28") || e instanceof SQLInvalidAuthorizationSpecException) {
            return NO_ACCESS;
        }
        boolean refusal = state.startsWith("42") || state.startsWith("0A") || state.startsWith("22");
        return refusal && !isMadeHere(e) ? REFUSED : UNAVAILABLE;
    }

    /**
     * Whether no server said it: MariaDB's driver says 42000, without a code, to a call on a connection that it has lost, and
     * a pool that got no connection in time repeats the state of its last try.
     */
    private static boolean isMadeHere(SQLException e) {
        return e instanceof SQLTransientException || e instanceof SQLSyntaxErrorException && e.getErrorCode() <= 0;
    }

    /** Codes of MySQL, MariaDB and H2 whose SQL state says too little. Their ranges do not meet. */
    private static @Nullable JdbcFailure ofVendorCode(int code) {
        return switch (code) {
            case 1213, 1205, 1020, 3572, 50200, 90131 -> CONFLICT;
            case 1792, 1836, 90097 -> READ_ONLY;
            case 1146, 1054, 42102, 42103, 42104, 42122, 90036 -> NO_TABLE;
            case 1175, 1665, 1290 -> SETTING;
            case 1690 -> OUT_OF_RANGE;
            case 1142, 1143, 1370, 90096 -> NO_PERMISSION;
            case 1044, 1045, 1049, 1698, 90146 -> NO_ACCESS;
            case 90020 -> IN_USE;
            default -> null;
        };
    }
}
