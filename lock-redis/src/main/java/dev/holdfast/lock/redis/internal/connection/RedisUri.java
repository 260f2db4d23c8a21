package dev.holdfast.lock.redis.internal.connection;

import dev.holdfast.lock.spi.support.LockUri;
import io.lettuce.core.RedisURI;
import io.lettuce.core.SslVerifyMode;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/**
 * An address, read: {@code redis[s]://[[user:]password@]host[:port][/database][?clientName=…&verifyPeer=…&ca=…&cert=…&key=…]}, the same with a group
 * behind a hash sign for {@code redis[s]-sentinel://}, and without a database for {@code redis[s]-cluster://}. Valkey's schemes
 * ({@code valkey://}, {@code valkeys://} and so on) are the same.
 *
 * @param cluster whether the servers are seeds of a cluster
 * @param servers one server, one group that Sentinel watches, or the seeds of a cluster
 * @param files of TLS
 */
public record RedisUri(boolean cluster, List<RedisURI> servers, TlsFiles files) {
    public static final Set<String> SCHEMES = Set.of(
            "redis",
            "rediss",
            "redis-sentinel",
            "rediss-sentinel",
            "redis-cluster",
            "rediss-cluster",
            "valkey",
            "valkeys",
            "valkey-sentinel",
            "valkeys-sentinel",
            "valkey-cluster",
            "valkeys-cluster");

    private static final int SENTINEL_PORT = 26_379;
    private static final Set<String> PARAMETERS = Set.of("clientName", "verifyPeer", "ca", "cert", "key");

    static RedisUri parse(String text) {
        LockUri uri = LockUri.parse(text, PARAMETERS);
        if (!SCHEMES.contains(uri.scheme())) {
            throw uri.malformed("the scheme is not one of Redis; write redis:// or, encrypted, rediss://");
        }
        boolean cluster = uri.scheme().endsWith("-cluster");
        boolean sentinel = uri.scheme().endsWith("-sentinel");
        if (sentinel) {
            return new RedisUri(false, List.of(group(uri)), files(uri));
        }
        uri.refuseFragment();
        if (!cluster && uri.hosts().size() > 1) {
            throw uri.malformed(
                    "it names several hosts; write " + uri.scheme() + "-cluster:// for the seeds of a cluster");
        }
        return new RedisUri(
                cluster,
                uri.hosts().stream()
                        .map(host -> completed(
                                RedisURI.builder()
                                        .withHost(host.name())
                                        .withPort(host.portOr(RedisURI.DEFAULT_REDIS_PORT)),
                                uri,
                                !cluster))
                        .toList(),
                files(uri));
    }

    private static TlsFiles files(LockUri uri) {
        if (uri.parameter("cert").isPresent() != uri.parameter("key").isPresent()) {
            throw uri.malformed("cert and key must be given together");
        }
        return new TlsFiles(
                uri.parameter("ca").orElse(null),
                uri.parameter("cert").orElse(null),
                uri.parameter("key").orElse(null));
    }

    private static RedisURI group(LockUri uri) {
        String name = uri.fragment().orElse("");
        if (name.isEmpty()) {
            throw uri.malformed("the group is missing; write its name at the end: #mymaster");
        }
        RedisURI.Builder builder = null;
        for (LockUri.Host host : uri.hosts()) {
            builder = builder == null
                    ? RedisURI.Builder.sentinel(host.name(), host.portOr(SENTINEL_PORT), name)
                    : builder.withSentinel(host.name(), host.portOr(SENTINEL_PORT));
        }
        if (builder == null) {
            throw uri.malformed("there is no host");
        }
        return completed(builder, uri, true);
    }

    private static RedisURI completed(RedisURI.Builder builder, LockUri uri, boolean databases) {
        boolean tls = uri.scheme().matches("(rediss|valkeys)(-.*)?");
        builder.withSsl(tls);
        if (!tls) {
            uri.refuseWithoutTls(
                    uri.scheme().replaceFirst("^(redis|valkey)", "$1s") + "://", "verifyPeer", "ca", "cert", "key");
        }
        uri.parameter("verifyPeer").ifPresent(mode -> builder.withVerifyPeer(verifyMode(uri, mode)));
        uri.parameter("clientName").ifPresent(builder::withClientName);
        login(builder, uri);
        if (!uri.path().isEmpty() && !uri.path().equals("/")) {
            if (!databases) {
                uri.refusePath();
            }
            if (!uri.path().matches("/\\d{1,9}")) {
                throw uri.malformed("the path is not the number of a database");
            }
            builder.withDatabase(Integer.parseInt(uri.path().substring(1)));
        }
        return builder.build();
    }

    /** User information without a colon is a password, as Lettuce has it. */
    private static void login(RedisURI.Builder builder, LockUri uri) {
        if (uri.user().isEmpty()) {
            return;
        }
        String password = uri.password().or(uri::user).orElse("");
        if (password.isEmpty()) {
            throw uri.malformed("the password is empty");
        }
        if (uri.password().isPresent() && !uri.user().orElse("").isEmpty()) {
            builder.withAuthentication(uri.user().orElseThrow(), password.toCharArray());
        } else {
            builder.withPassword(password.toCharArray());
        }
    }

    private static SslVerifyMode verifyMode(LockUri uri, String mode) {
        return switch (mode.toUpperCase(Locale.ROOT)) {
            case "FULL" -> SslVerifyMode.FULL;
            case "CA" -> SslVerifyMode.CA;
            case "NONE" -> SslVerifyMode.NONE;
            default -> throw uri.malformed("verifyPeer is none of FULL, CA and NONE");
        };
    }

    /** Lettuce masks the password. */
    @Override
    public String toString() {
        return servers.toString();
    }
}
