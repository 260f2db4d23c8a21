package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockUnavailableException;
import java.util.List;
import java.util.Properties;
import java.util.regex.Pattern;

/** Keeps the secrets of a JDBC address out of exceptions whose messages a driver or a pool wrote. */
final class SafeMessages {
    private static final Pattern SECRET = Pattern.compile("(?i)password|passwd|pwd|secret|token|credential");

    /** A shorter one is in every message. */
    private static final int SHORTEST = 4;

    private SafeMessages() {}

    /** Returns the exception itself if it tells no secret, else one of the same kind without causes. */
    static RuntimeException without(JdbcAddress address, RuntimeException e) {
        List<String> secrets = secrets(address.properties());
        if (!tells(e, secrets)) {
            return e;
        }
        String message = String.valueOf(e.getMessage());
        for (String secret : secrets) {
            message = message.replace(secret, "***");
        }
        message += " [details withheld: they contain a secret of the address]";
        if (e instanceof LockConfigurationException) {
            return new LockConfigurationException(message);
        }
        return e instanceof LockUnavailableException
                ? new LockUnavailableException(message)
                : new LockException(message);
    }

    private static List<String> secrets(Properties properties) {
        return properties.stringPropertyNames().stream()
                .filter(name -> SECRET.matcher(name).find())
                .map(properties::getProperty)
                .filter(value -> value.length() >= SHORTEST)
                .toList();
    }

    private static boolean tells(Throwable e, List<String> secrets) {
        Throwable t = e;
        for (int depth = 0; t != null && depth < 32; depth++, t = t.getCause()) {
            String text = t.toString();
            if (secrets.stream().anyMatch(text::contains)) {
                return true;
            }
            for (Throwable suppressed : t.getSuppressed()) {
                if (tells(suppressed, secrets)) {
                    return true;
                }
            }
        }
        return false;
    }
}
