package dev.holdfast.lock.jdbc.internal.connection;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockUnavailableException;
import java.sql.SQLException;
import java.util.List;
import java.util.Properties;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Masks the secrets of a JDBC address in the messages of exceptions from a driver or a pool.
 *
 * <p><b>The rule.</b> A secret is masked wherever it follows a name such as {@code password=}. Elsewhere it is masked
 *
 * <ul>
 *   <li>not at all if it occurs in the public part of the address, the URL without parameters and the user: there it
 *       reveals nothing, and {@code database "shop" does not exist} must stay readable if the password is {@code shop};
 *   <li>as a whole word, if it is shorter than eight characters, since it may be part of many words;
 *   <li>everywhere, if it is longer.
 * </ul>
 *
 * <p>An exception without secrets is returned unchanged. Otherwise the exception and its causes are replaced by masked
 * copies. They keep the stack traces, and the state and code of an {@link SQLException}. The text of each cause begins
 * with the name of its class.
 */
public final class SafeMessages {
    private static final String NAMES = "password|passwd|pwd|secret|token|credential";
    private static final Pattern SECRET = Pattern.compile("(?i)" + NAMES);

    /** A shorter text occurs in every message. */
    private static final int SHORTEST = 4;

    private static final int LONG = 8;
    private static final int DEEPEST = 32;

    private final List<Pattern> secrets;

    private SafeMessages(JdbcAddress address) {
        Properties properties = address.properties();
        String shown = address.url() + " " + properties.getProperty("user", "");
        secrets = properties.stringPropertyNames().stream()
                .filter(name -> SECRET.matcher(name).find())
                .map(properties::getProperty)
                .filter(value -> !value.isEmpty())
                .map(value -> pattern(value, shown))
                .toList();
    }

    private static Pattern pattern(String secret, String shown) {
        String quoted = Pattern.quote(secret);
        String behindItsName = "(?<=(?i:" + NAMES + ")[a-zA-Z]{0,9}[\"']?\\s{0,3}[=:]\\s{0,3}[\"']?)" + quoted;
        if (shown.contains(secret) || secret.length() < SHORTEST) {
            return Pattern.compile(behindItsName);
        }
        return Pattern.compile(
                secret.length() < LONG
                        ? behindItsName + "|(?<![\\p{L}\\p{N}])" + quoted + "(?![\\p{L}\\p{N}])"
                        : quoted);
    }

    /** Returns the exception itself if it reveals no secret, else a masked copy of the same kind. */
    public static RuntimeException without(JdbcAddress address, RuntimeException e) {
        SafeMessages messages = new SafeMessages(address);
        if (!messages.tells(e, 0)) {
            return e;
        }
        String message = messages.masked(String.valueOf(e.getMessage()));
        Throwable cause = e.getCause() == null ? null : messages.copy(e.getCause(), 1);
        if (e instanceof LockConfigurationException) {
            return new LockConfigurationException(message, cause);
        }
        return e instanceof LockUnavailableException
                ? new LockUnavailableException(message, cause)
                : new LockException(message, cause);
    }

    private String masked(String text) {
        String masked = text;
        for (Pattern secret : secrets) {
            masked = secret.matcher(masked).replaceAll(Matcher.quoteReplacement("***"));
        }
        return masked;
    }

    private Throwable copy(Throwable e, int depth) {
        String text = masked(e.toString());
        @Nullable Throwable cause = e.getCause() == null || depth > DEEPEST ? null : copy(e.getCause(), depth + 1);
        Throwable copy = e instanceof SQLException sql
                ? new SQLException(text, sql.getSQLState(), sql.getErrorCode(), cause)
                : new Exception(text, cause);
        copy.setStackTrace(e.getStackTrace());
        return copy;
    }

    private boolean tells(@Nullable Throwable e, int depth) {
        if (e == null || depth > DEEPEST) {
            return false;
        }
        String text = e.toString();
        if (secrets.stream().anyMatch(secret -> secret.matcher(text).find()) || tells(e.getCause(), depth + 1)) {
            return true;
        }
        for (Throwable suppressed : e.getSuppressed()) {
            if (tells(suppressed, depth + 1)) {
                return true;
            }
        }
        return e instanceof SQLException sql && sql.getNextException() != e && tells(sql.getNextException(), depth + 1);
    }
}
