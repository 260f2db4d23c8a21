package dev.holdfast.lock.jdbc.internal.connection;

import dev.holdfast.lock.spi.support.ConnectDiagnosis;
import dev.holdfast.lock.spi.support.Greeting;
import dev.holdfast.lock.spi.support.LockUri;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The servers of a JDBC address, and the greeting of each database's protocol. */
public final class JdbcServers {
    private static final Pattern AUTHORITY = Pattern.compile("//([^/?;]+)");
    private static final Pattern HOST = Pattern.compile("(\\[[^]]+]|[^:]+)(?::(\\d{1,5}))?");

    /** Requests TLS; the server accepts, declines, or refuses with an error. */
    private static final Greeting POSTGRES = new Greeting(
            "PostgreSQL",
            bytes("\0\0\0\u0008\u0004\u00d2\u0016\u002f"),
            said -> said.length == 1 && (said[0] == 'S' || said[0] == 'N') || said[0] == 'E');

    /** The server sends first: the handshake of version 10, or an error. */
    private static final Greeting MYSQL = new Greeting(
            "a server of MySQL's or MariaDB's protocol",
            new byte[0],
            said -> said.length > 4 && (said[4] == 10 || said[4] == -1));

    /** Requests a version that is too old, which the server refuses with an error. */
    private static final Greeting H2 = new Greeting("H2", bytes("\0\0\0\1\0\0\0\1"), said -> said[0] == 0);

    private JdbcServers() {}

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.ISO_8859_1);
    }

    public static ConnectDiagnosis diagnosis(JdbcAddress address, long deadlineNanos) {
        boolean tls = address.url().startsWith("jdbc:h2:ssl:");
        Greeting greeting = switch (address.kind()) {
            case "postgresql" -> POSTGRES;
            case "h2" -> H2;
            default -> MYSQL;
        };
        String otherForm = switch (address.kind()) {
            case "h2" -> tls ? "jdbc:h2:tcp://" : "jdbc:h2:ssl://";
            default -> "an address of its TLS as the driver has it";
        };
        return new ConnectDiagnosis(
                new ConnectDiagnosis.Target(address.url(), servers(address), tls, otherForm),
                greeting,
                JdbcFailureTranslator.CONNECTING,
                deadlineNanos);
    }

    /** Empty for an embedded database, and for hosts with details in parentheses. */
    public static List<LockUri.Host> servers(JdbcAddress address) {
        Matcher authority = AUTHORITY.matcher(address.url());
        List<LockUri.Host> servers = new ArrayList<>();
        if (!authority.find() || authority.group(1).indexOf('(') >= 0) {
            return servers;
        }
        for (String each : authority.group(1).split(",", -1)) {
            Matcher host = HOST.matcher(each);
            if (host.matches()) {
                int port = host.group(2) == null ? defaultPort(address.kind()) : Integer.parseInt(host.group(2));
                servers.add(new LockUri.Host(host.group(1), Math.min(port, 65_535)));
            }
        }
        return servers;
    }

    private static int defaultPort(String kind) {
        return switch (kind) {
            case "postgresql" -> 5432;
            case "h2" -> 9092;
            default -> 3306;
        };
    }
}
