package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.Secrets;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Keeps what a JDBC URL hides out of exceptions whose messages a driver or a pool wrote. */
final class SafeMessages {
    private static final Pattern PARAMETER =
            Pattern.compile("(?i)[?&;][^=&;?]*(?:password|passwd|pwd|secret|token)[^=&;]*=([^&;]+)");
    private static final Pattern USER_INFO = Pattern.compile("://[^/?#:@]*:([^/?#]*)@");

    private SafeMessages() {}

    /** Returns the exception itself if it tells no secret, else one of the same kind without causes. */
    static RuntimeException without(String url, RuntimeException e) {
        List<String> secrets = secrets(url);
        if (!tells(e, secrets)) {
            return e;
        }
        String message = String.valueOf(e.getMessage()).replace(url, Secrets.redact(url));
        for (String secret : secrets) {
            message = message.replace(secret, "***");
        }
        message += " [details withheld: they contain a secret of the URL]";
        if (e instanceof LockConfigurationException) {
            return new LockConfigurationException(message);
        }
        return e instanceof LockUnavailableException
                ? new LockUnavailableException(message)
                : new LockException(message);
    }

    private static List<String> secrets(String url) {
        List<String> secrets = new ArrayList<>();
        for (Pattern pattern : List.of(PARAMETER, USER_INFO)) {
            Matcher matcher = pattern.matcher(url);
            while (matcher.find()) {
                secrets.add(matcher.group(1));
            }
        }
        secrets.removeIf(String::isEmpty);
        return secrets;
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
