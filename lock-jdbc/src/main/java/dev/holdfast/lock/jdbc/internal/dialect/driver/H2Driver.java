package dev.holdfast.lock.jdbc.internal.dialect.driver;

import dev.holdfast.lock.spi.support.Greeting;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.regex.Pattern;

/** H2's driver. Its addresses have settings behind semicolons, where a backslash escapes. It refuses unknown settings. */
public final class H2Driver extends DatabaseDriver {
    /** Requests a version that is too old, which the server refuses with an error. */
    private static final Greeting GREETING =
            new Greeting("H2", "\0\0\0\1\0\0\0\1".getBytes(StandardCharsets.ISO_8859_1), said -> said[0] == 0);

    private static final Pattern NAME = Pattern.compile("[A-Za-z][A-Za-z0-9_.-]*(?: ZONE)?");
    private static final Pattern LIMIT = Pattern.compile("(?i);\\s*NETWORK_TIMEOUT\\s*=");

    /** Other drivers' ways to write a login, which H2 takes for a part of the path. */
    private static final Pattern FOREIGN_LOGIN =
            Pattern.compile("(?i)jdbc:h2:(?:tcp|ssl):.*(?:@|[?&][a-z]+=).*|.*[?&](?:user|password)\\s*=.*");

    /** Settings that may follow H2's password and are not taken for the rest of it. */
    private static final Set<String> BEHIND_PASSWORD = Set.of(
            "AUTO_RECONNECT",
            "AUTO_SERVER",
            "AUTO_SERVER_PORT",
            "CASE_INSENSITIVE_IDENTIFIERS",
            "CIPHER",
            "DATABASE_TO_LOWER",
            "DATABASE_TO_UPPER",
            "DB_CLOSE_DELAY",
            "DB_CLOSE_ON_EXIT",
            "IFEXISTS",
            "INIT",
            "LOCK_TIMEOUT",
            "MODE",
            "NETWORK_TIMEOUT",
            "NON_KEYWORDS",
            "SCHEMA",
            "TIME ZONE",
            "TRACE_LEVEL_FILE",
            "TRACE_LEVEL_SYSTEM_OUT",
            "WRITE_DELAY");

    public H2Driver() {
        super("h2", 9092, GREETING, null);
    }

    @Override
    public String split(String uri, BiConsumer<String, String> login) {
        String[] parts = uri.split("(?<!\\\\);", -1);
        requireOwnLogin(parts[0]);
        StringBuilder rest = new StringBuilder(parts[0]);
        boolean hasPassword = false;
        for (int i = 1; i < parts.length; i++) {
            int equals = parts[i].indexOf('=');
            String name = equals < 0 ? parts[i] : parts[i].substring(0, equals);
            if (parts[i].isEmpty() && i == parts.length - 1) {
                continue;
            }
            if (equals < 0 || !NAME.matcher(name).matches()) {
                throw malformed("setting number " + i + " is not name=value; write a ; of a password as \\;");
            }
            if (!name.equalsIgnoreCase("PASSWORD") && !name.equalsIgnoreCase("INIT")) {
                requireOwnLogin(parts[i]);
            }
            String value = parts[i].substring(equals + 1).replaceAll("\\\\(.)", "$1");
            if (name.equalsIgnoreCase("USER") || name.equalsIgnoreCase("PASSWORD")) {
                login.accept(name.toLowerCase(Locale.ROOT), value);
                hasPassword |= name.equalsIgnoreCase("PASSWORD");
            } else if (!hasPassword || BEHIND_PASSWORD.contains(name.toUpperCase(Locale.ROOT))) {
                rest.append(';').append(parts[i]);
            } else {
                throw malformed(
                        "the setting after the password is not a common one; write a ; of a password as \\;, or put"
                                + " the password last");
            }
        }
        return rest.toString();
    }

    private static void requireOwnLogin(String part) {
        if (FOREIGN_LOGIN.matcher(part).matches()) {
            throw malformed("H2's user and password are written ;USER=…;PASSWORD=…");
        }
    }

    @Override
    public boolean isEmbedded(String url) {
        String text = url.toLowerCase(Locale.ROOT);
        return text.startsWith("jdbc:h2:") && !text.startsWith("jdbc:h2:tcp:") && !text.startsWith("jdbc:h2:ssl:");
    }

    @Override
    public boolean isTls(String url) {
        return url.startsWith("jdbc:h2:ssl:");
    }

    @Override
    public String otherForm(boolean tls) {
        return tls ? "jdbc:h2:tcp://" : "jdbc:h2:ssl://";
    }

    /** The driver can neither abort a connection nor limit its answers later: a thread would wait as long as a server is silent. */
    @Override
    public Map<String, String> properties(String url, boolean remote, long timeoutMillis) {
        return !remote || LIMIT.matcher(url).find()
                ? Map.of()
                : Map.of("NETWORK_TIMEOUT", Long.toString(timeoutMillis));
    }
}
