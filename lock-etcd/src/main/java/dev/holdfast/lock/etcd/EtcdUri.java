package dev.holdfast.lock.etcd;

import dev.holdfast.lock.spi.Secrets;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * An address: {@code etcd[s]://[user:password@]host[:port][,host[:port]…][/][?prefix=…&mode=…&ca=…&cert=…&key=…]}.
 *
 * @param tls whether the scheme is {@code etcds}
 * @param user the user, or null
 * @param password the password, or null
 * @param endpoints {@code host:port} each, not empty
 * @param parameters the decoded parameters
 */
record EtcdUri(
        boolean tls,
        @Nullable String user,
        @Nullable String password,
        List<String> endpoints,
        Map<String, String> parameters) {
    private static final Set<String> KNOWN = Set.of("prefix", "mode", "ca", "cert", "key", "authority");
    private static final Pattern FORM = Pattern.compile("(?i)(etcds?)://(?:([^/?#]*)@)?([^/?#@]+)/?(?:\\?([^#]*))?");
    private static final Pattern ENDPOINT = Pattern.compile("(\\[[0-9A-Fa-f:.]+]|[^:\\[\\]\\s]+)(?::(\\d{1,5}))?");
    private static final int DEFAULT_PORT = 2379;

    static EtcdUri parse(String uri) {
        Matcher matcher = FORM.matcher(uri);
        if (!matcher.matches()) {
            throw malformed(uri, "expected etcd://[user:password@]host[:port],…[?prefix=…]");
        }
        String user = null;
        String password = null;
        String login = matcher.group(2);
        if (login != null) {
            int colon = login.indexOf(':');
            if (colon < 1 || colon == login.length() - 1) {
                throw malformed(uri, "a user needs a password: user:password@host");
            }
            user = decoded(uri, login.substring(0, colon));
            password = decoded(uri, login.substring(colon + 1));
        }
        List<String> endpoints = new ArrayList<>();
        for (String part : matcher.group(3).split(",", -1)) {
            endpoints.add(endpoint(uri, part));
        }
        return new EtcdUri(
                matcher.group(1).equalsIgnoreCase("etcds"),
                user,
                password,
                List.copyOf(endpoints),
                parameters(uri, Optional.ofNullable(matcher.group(4)).orElse("")));
    }

    private static String endpoint(String uri, String part) {
        Matcher matcher = ENDPOINT.matcher(part);
        int port = matcher.matches() && matcher.group(2) != null ? Integer.parseInt(matcher.group(2)) : DEFAULT_PORT;
        if (!matcher.matches() || port < 1 || port > 65_535) {
            throw malformed(uri, "'" + part + "' is not host:port");
        }
        return matcher.group(1) + ":" + port;
    }

    private static Map<String, String> parameters(String uri, String query) {
        Map<String, String> parameters = new HashMap<>();
        for (String part : query.split("&")) {
            int equals = part.indexOf('=');
            if (part.isEmpty()) {
                continue;
            }
            String name = equals < 0 ? part : part.substring(0, equals);
            if (equals < 0 || !KNOWN.contains(name)) {
                throw malformed(
                        uri,
                        "parameter '" + name + "' is not one of "
                                + KNOWN.stream().sorted().toList());
            }
            if (parameters.put(name, decoded(uri, part.substring(equals + 1))) != null) {
                throw malformed(uri, "parameter '" + name + "' is given twice");
            }
        }
        return Map.copyOf(parameters);
    }

    Optional<String> parameter(String name) {
        return Optional.ofNullable(parameters.get(name));
    }

    /** The mode that is asked for. */
    EtcdMode mode() {
        String mode = parameter("mode").orElse("queue");
        return switch (mode) {
            case "queue" -> EtcdMode.QUEUE;
            case "single-key" -> EtcdMode.SINGLE_KEY;
            default -> throw new IllegalArgumentException("mode must be queue or single-key, got '" + mode + "'");
        };
    }

    private static String decoded(String uri, String text) {
        try {
            return URLDecoder.decode(text.replace("+", "%2B"), StandardCharsets.UTF_8);
        } catch (IllegalArgumentException e) {
            throw malformed(uri, "broken percent-encoding");
        }
    }

    private static IllegalArgumentException malformed(String uri, String why) {
        return new IllegalArgumentException("malformed etcd address '" + Secrets.redact(uri) + "': " + why);
    }

    @Override
    public String toString() {
        return (tls ? "etcds://" : "etcd://") + String.join(",", endpoints);
    }
}
