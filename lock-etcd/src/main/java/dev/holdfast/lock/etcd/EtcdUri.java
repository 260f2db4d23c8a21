package dev.holdfast.lock.etcd;

import dev.holdfast.lock.spi.support.ConnectDiagnosis;
import dev.holdfast.lock.spi.support.LockUri;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * An address: {@code etcd[s]://[user:password@]host[:port][,host[:port]…][/][?prefix=…&mode=…&ca=…&cert=…&key=…]}.
 *
 * @param uri its parts
 */
record EtcdUri(LockUri uri) {
    static final Set<String> SCHEMES = Set.of("etcd", "etcds");

    private static final Set<String> PARAMETERS = Set.of("prefix", "mode", "ca", "cert", "key", "authority");
    private static final int DEFAULT_PORT = 2379;

    static EtcdUri parse(String text) {
        LockUri uri = LockUri.parse(text, PARAMETERS);
        if (!SCHEMES.contains(uri.scheme())) {
            throw uri.malformed("the scheme is not one of etcd; write etcd:// or, encrypted, etcds://");
        }
        uri.refusePath();
        uri.refuseFragment();
        if (uri.user().isPresent()
                && (uri.user().get().isEmpty() || uri.password().orElse("").isEmpty())) {
            throw uri.malformed("a user needs a password: user:password@host");
        }
        EtcdUri address = new EtcdUri(uri);
        if (!address.tls()) {
            uri.refuseWithoutTls("etcds://", "ca", "cert", "key", "authority");
        }
        if (uri.parameter("cert").isPresent() != uri.parameter("key").isPresent()) {
            throw uri.malformed("cert and key must be given together");
        }
        return address;
    }

    boolean tls() {
        return uri.scheme().equals("etcds");
    }

    @Nullable String user() {
        return uri.user().orElse(null);
    }

    @Nullable String password() {
        return uri.password().orElse(null);
    }

    /** {@code host:port} each, not empty. */
    List<String> endpoints() {
        return uri.hosts().stream().map(host -> host.withPort(DEFAULT_PORT)).toList();
    }

    /** The endpoints to connect to. */
    ConnectDiagnosis.Target target() {
        return new ConnectDiagnosis.Target(
                toString(),
                uri.hosts().stream()
                        .map(host -> new LockUri.Host(host.name(), host.portOr(DEFAULT_PORT)))
                        .toList(),
                tls(),
                tls() ? "etcd://" : "etcds://");
    }

    Optional<String> parameter(String name) {
        return uri.parameter(name);
    }

    /** The requested mode. */
    EtcdMode mode() {
        return switch (parameter("mode").orElse("queue")) {
            case "queue" -> EtcdMode.QUEUE;
            case "single-key" -> EtcdMode.SINGLE_KEY;
            default -> throw uri.malformed("mode is neither queue nor single-key");
        };
    }

    /** Without user, password and parameters. */
    @Override
    public String toString() {
        return uri.scheme() + "://" + String.join(",", endpoints());
    }
}
