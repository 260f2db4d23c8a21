package dev.holdfast.lock.zookeeper;

import dev.holdfast.lock.ClientOptions;
import dev.holdfast.lock.Renewal;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * An address, read: {@code zookeeper://[user:password@]host[:port][,host[:port]]…[/base][?parameters]}. Immutable.
 *
 * @param connectString the servers, as the handle wants them
 * @param basePath where the locks live
 * @param credentials {@code user:password} for the digest scheme, or null
 * @param sessionMillis the session time-out asked for, or 0 to take it from the lease
 * @param tls whether to encrypt
 */
record ZooKeeperUri(
        String connectString, String basePath, @Nullable String credentials, int sessionMillis, boolean tls) {

    private static final int PORT = 2181;
    private static final int LONGEST_SESSION_MILLIS = 36 * 60 * 60 * 1_000;

    static ZooKeeperUri parse(String uri) {
        int authority = uri.indexOf("://");
        if (authority < 0) {
            throw malformed("there is no // after the scheme");
        }
        String rest = uri.substring(authority + 3);
        Map<String, String> parameters = new LinkedHashMap<>();
        int question = rest.indexOf('?');
        if (question >= 0) {
            parameters.putAll(parameters(rest.substring(question + 1)));
            rest = rest.substring(0, question);
        }
        String credentials = null;
        int at = rest.lastIndexOf('@');
        if (at >= 0) {
            credentials = decode(rest.substring(0, at));
            rest = rest.substring(at + 1);
            if (credentials.indexOf(':') <= 0) {
                throw malformed("the user information is not user:password");
            }
        }
        int slash = rest.indexOf('/');
        String base = slash < 0 ? "" : decode(rest.substring(slash)).replaceAll("/+$", "");
        return new ZooKeeperUri(
                servers(slash < 0 ? rest : rest.substring(0, slash)),
                base.isEmpty() ? ZooKeeperLocks.Builder.DEFAULT_BASE : LockTree.requireBase(base),
                credentials,
                sessionMillis(parameters.remove("sessionTimeout")),
                tls(parameters.remove("tls"), parameters));
    }

    /**
     * The session time-out for a client: its default lease, so that a crashed holder blocks others for no longer than that.
     * Two thirds of it are certain (see {@link Session}), which is enough for a lease that is renewed. A lease that is not
     * renewed must count in full: half as long again.
     */
    int sessionMillis(ClientOptions options) {
        if (sessionMillis > 0) {
            return sessionMillis;
        }
        long lease = options.lockOptions().lease().toMillis();
        long session = options.lockOptions().renewal() == Renewal.AUTO ? lease : lease + (lease + 1) / 2;
        return (int) Math.min(session, LONGEST_SESSION_MILLIS);
    }

    private static String servers(String list) {
        StringBuilder servers = new StringBuilder();
        for (String server : list.split(",", -1)) {
            if (server.isBlank()) {
                throw malformed("a server's name is missing");
            }
            boolean port = server.matches(".*[^:]:\\d{1,5}") || server.matches("\\[.*]:\\d{1,5}");
            servers.append(servers.isEmpty() ? "" : ",").append(server).append(port ? "" : ":" + PORT);
        }
        return servers.toString();
    }

    private static Map<String, String> parameters(String query) {
        Map<String, String> parameters = new LinkedHashMap<>();
        for (String pair : query.split("&")) {
            int equals = pair.indexOf('=');
            if (equals <= 0) {
                throw malformed("a parameter is not name=value");
            }
            parameters.put(pair.substring(0, equals), decode(pair.substring(equals + 1)));
        }
        return parameters;
    }

    private static int sessionMillis(@Nullable String text) {
        if (text == null) {
            return 0;
        }
        if (!text.matches("[1-9]\\d{0,7}")) {
            throw malformed("sessionTimeout is not a number of milliseconds from 1 to 99999999");
        }
        return Math.min(Integer.parseInt(text), LONGEST_SESSION_MILLIS);
    }

    private static boolean tls(@Nullable String text, Map<String, String> others) {
        if (!others.isEmpty()) {
            throw malformed("the parameters " + others.keySet() + " are not known; there are sessionTimeout and tls");
        }
        if (text != null && !text.equals("true") && !text.equals("false")) {
            throw malformed("tls is neither true nor false");
        }
        return "true".equals(text);
    }

    private static String decode(String text) {
        try {
            return URLDecoder.decode(text.replace("+", "%2B"), StandardCharsets.UTF_8);
        } catch (IllegalArgumentException e) {
            throw malformed("a percent sign is not followed by two hexadecimal digits");
        }
    }

    /** Never repeats the address, which may hold a password. */
    private static IllegalArgumentException malformed(String why) {
        return new IllegalArgumentException("lock URI of ZooKeeper is malformed: " + why
                + "; write it as zookeeper://user:password@host1:2181,host2:2181/base?sessionTimeout=15000");
    }

    @Override
    public String toString() {
        return "ZooKeeperUri[" + connectString + basePath + (credentials == null ? "" : ", with credentials") + "]";
    }
}
