package dev.holdfast.lock.jdbc.internal.sql;

import dev.holdfast.lock.spi.support.FailureTranslator;
import java.net.SocketTimeoutException;
import java.sql.SQLException;
import java.sql.SQLInvalidAuthorizationSpecException;
import java.sql.SQLSyntaxErrorException;
import java.sql.SQLTransientException;
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
    /** Another process has the files of an embedded database. */
    IN_USE,
    /** The name of a prepared statement is that of another connection, or of none. */
    SHARED_NAMES,
    /** A number exceeds its type, as a token does that was drawn from a sequence behind its table. */
    OUT_OF_RANGE,
    /** A setting of the session or the server forbids the statement. */
    SETTING,
    /** The statement itself is refused: the table has another shape, or the version is not supported. */
    REFUSED,
    /** Everything else: no answer, no connection, or trouble that may pass. The outcome is unknown. */
    UNAVAILABLE;

    /** What a database and its driver report in a way of their own. */
    public interface Codes {
        /** What an error code means, or null if it is not the database's or its SQL state says more. */
        @Nullable JdbcFailure ofCode(int code, String message);

        /** What an SQL state means, or null if it is none of the database's own. */
        @Nullable JdbcFailure ofState(String state, int code, String message);

        /** Whether a message says that the server does not speak TLS, for which there is no SQL state and no code. */
        boolean saysNoTls(String message);
    }

    /** Of HikariCP, Tomcat, DBCP and Agroal, without a state or a code; a connection that is closed is another matter. */
    private static final Pattern CLOSED_SAID =
            Pattern.compile("(?i)^(?=.*(?:data ?source|pool))(?!.*connection (?:is|has|was)).* closed\\W*$");

    /** Whether there was no answer in time, so that the outcome of the request is unknown. */
    public static boolean isTimeOut(Throwable failure) {
        return FailureTranslator.causes(failure).stream().anyMatch(SocketTimeoutException.class::isInstance);
    }

    /** Looks through causes and next exceptions for the one that says most: pools wrap what the driver threw. */
    public static JdbcFailure of(Throwable failure, Codes codes) {
        JdbcFailure worst = UNAVAILABLE;
        for (Throwable cause : FailureTranslator.causes(failure)) {
            SQLException next = cause instanceof SQLException e ? e : null;
            while (next != null) {
                JdbcFailure found = ofOne(next, codes);
                worst = found == UNAVAILABLE ? worst : found;
                next = next.getNextException() == next ? null : next.getNextException();
            }
        }
        return worst;
    }

    private static JdbcFailure ofOne(SQLException e, Codes codes) {
        String message = String.valueOf(e.getMessage());
        if (codes.saysNoTls(message)) {
            return NO_TLS;
        }
        if (e.getSQLState() == null
                && e.getErrorCode() == 0
                && CLOSED_SAID.matcher(message).find()) {
            return CLOSED;
        }
        JdbcFailure found = codes.ofCode(e.getErrorCode(), message);
        String state = e.getSQLState() == null ? "" : e.getSQLState();
        if (found == null) {
            found = codes.ofState(state, e.getErrorCode(), message);
        }
        return found != null ? found : ofStandardState(state, e);
    }

    private static JdbcFailure ofStandardState(String state, SQLException e) {
        return switch (state) {
            case "40001" -> CONFLICT;
            case "25006" -> READ_ONLY;
            case "42S02", "42S22", "3F000" -> NO_TABLE;
            case "22003" -> OUT_OF_RANGE;
            case "3D000" -> NO_ACCESS;
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
}
