package dev.holdfast.lock.consul;

import dev.holdfast.lock.consul.internal.http.ConsulConnection;
import dev.holdfast.lock.consul.internal.session.ConsulKeys;
import dev.holdfast.lock.spi.support.ConnectDiagnosis;
import dev.holdfast.lock.spi.support.LockUri;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * An address: {@code consul[s]://[:token@]host[:port][,host[:port]…][/prefix][?lock-delay=…&session-ttl-min=…&ca=…]}.
 *
 * @param uri its parts
 */
record ConsulUri(LockUri uri) {
    private static final Set<String> PARAMETERS = Set.of("lock-delay", "session-ttl-min", "dc", "ca", "cert", "key");
    private static final int PORT = 8500;
    private static final int TLS_PORT = 8501;
    private static final Pattern TIME = Pattern.compile("(\\d{1,9})(ms|s)");

    static ConsulUri parse(String text) {
        LockUri uri = LockUri.parse(text, PARAMETERS);
        if (!ConsulLockProvider.SCHEMES.contains(uri.scheme())) {
            throw uri.malformed("the scheme is not one of Consul; write consul:// or, encrypted, consuls://");
        }
        uri.refuseFragment();
        if (uri.user().isPresent()
                && (!uri.user().get().isEmpty() || uri.password().orElse("").isEmpty())) {
            throw uri.malformed("Consul has no users; write an ACL token as :token@host");
        }
        if (uri.password().orElse("").chars().anyMatch(c -> c <= ' ' || c >= 0x7f)) {
            throw uri.malformed("the ACL token has an invalid character");
        }
        ConsulUri address = new ConsulUri(uri);
        if (!address.tls()) {
            uri.refuseWithoutTls("consuls://", "ca", "cert", "key");
        }
        if (address.agents().stream().anyMatch(agent -> agent.getHost() == null)) {
            throw uri.malformed("a host is not one that URLs can have, such as one with an underscore;"
                    + " write its IP address, or give it another name");
        }
        if (uri.parameter("dc").filter(dc -> !ConsulConnection.isDatacenter(dc)).isPresent()) {
            throw uri.malformed("parameter 'dc' is not the name of a datacenter");
        }
        if (uri.parameter("cert").isPresent() != uri.parameter("key").isPresent()) {
            throw uri.malformed("cert and key must be given together");
        }
        return address;
    }

    boolean tls() {
        return uri.scheme().equals("consuls");
    }

    @Nullable String token() {
        return uri.password().orElse(null);
    }

    List<URI> agents() {
        String scheme = tls() ? "https://" : "http://";
        return uri.hosts().stream()
                .map(host -> URI.create(scheme + host.withPort(tls() ? TLS_PORT : PORT)))
                .toList();
    }

    /** The agents to connect to. */
    ConnectDiagnosis.Target target() {
        return new ConnectDiagnosis.Target(
                toString(),
                uri.hosts().stream()
                        .map(host -> new LockUri.Host(host.name(), host.portOr(tls() ? TLS_PORT : PORT)))
                        .toList(),
                tls(),
                tls() ? "consul://" : "consuls://");
    }

    /** The start of all keys: the path, with a slash at its end. */
    String prefix() {
        String path = uri.path().startsWith("/") ? uri.path().substring(1) : uri.path();
        if (path.isEmpty()) {
            return ConsulLocks.DEFAULT_PREFIX;
        }
        try {
            return new ConsulKeys(path.endsWith("/") ? path : path + "/").prefix();
        } catch (IllegalArgumentException e) { // its message contains the path
            throw uri.malformed(
                    "its path cannot begin keys; use up to 127 ASCII characters without blanks, ~ and empty parts");
        }
    }

    Optional<String> parameter(String name) {
        return uri.parameter(name);
    }

    /** A duration in the format of Consul, in seconds or milliseconds. */
    Optional<Duration> time(String name) {
        return uri.parameter(name).map(text -> {
            Matcher matcher = TIME.matcher(text);
            if (!matcher.matches()) {
                throw uri.malformed("parameter '" + name + "' is not a time; write it as 15s or 500ms");
            }
            long number = Long.parseLong(matcher.group(1));
            return matcher.group(2).equals("s") ? Duration.ofSeconds(number) : Duration.ofMillis(number);
        });
    }

    /** Omits the token and the parameters. */
    @Override
    public String toString() {
        return uri.toString();
    }
}
