package dev.holdfast.lock.spi;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Keeps passwords out of messages. */
public final class Secrets {
    private static final Pattern SCHEMES = Pattern.compile("(?i)(?:jdbc:)?[a-z][a-z0-9+.-]{0,31}:");

    private Secrets() {}

    /**
     * Returns what is safe to show of an address of which nothing else is known: where a password begins and ends in it
     * depends on who reads it, so nothing behind the scheme is kept. Of addresses that {@link LockUri} reads, its
     * {@code toString} shows the hosts as well.
     *
     * @param uri an address of any kind, well-formed or not
     * @return its scheme, such as {@code jdbc:mysql:}, and asterisks
     */
    public static String redact(String uri) {
        Matcher scheme = SCHEMES.matcher(uri);
        return scheme.lookingAt() ? scheme.group() + "***" : "***";
    }
}
