package dev.holdfast.lock.memcached;

import dev.holdfast.lock.spi.ConnectDiagnosis;
import dev.holdfast.lock.spi.LockUri;
import java.util.List;
import java.util.Set;

/**
 * An address: {@code memcached[s]://[user:password@]host[:port][/prefix][?ca=…]}.
 *
 * @param uri its parts
 */
record MemcachedUri(LockUri uri) {
    static final Set<String> SCHEMES = Set.of("memcached", "memcacheds");
    private static final int DEFAULT_PORT = 11_211;

    static MemcachedUri parse(String text) {
        LockUri uri = LockUri.parse(text, Set.of("ca"));
        if (!SCHEMES.contains(uri.scheme())) {
            throw uri.malformed("the scheme is not one of memcached; write memcached:// or, encrypted, memcacheds://");
        }
        uri.refuseFragment();
        if (uri.hosts().size() > 1) {
            throw uri.malformed("it names several hosts; a lock client has one memcached, since a lock that moves to"
                    + " another server while one is away has two holders");
        }
        if (uri.user().isPresent()
                && (uri.user().get().isEmpty() || uri.password().orElse("").isEmpty())) {
            throw uri.malformed("a user needs a password: user:password@host");
        }
        if (uri.user().orElse("").matches("(?s).*[\\s\\p{Cntrl}].*")
                || uri.password().orElse("").matches("(?s).*[\\r\\n\\x00].*")) {
            throw uri.malformed("memcached cannot have the user's or the password's blanks or line ends");
        }
        MemcachedUri address = new MemcachedUri(uri);
        if (!address.tls()) {
            uri.refuseWithoutTls("memcacheds://", "ca");
        }
        try {
            new MemcachedKeys(address.prefix());
        } catch (IllegalArgumentException e) {
            throw uri.malformed(
                    "the path, which is the prefix of the keys, must have 1 to 128 characters of A-Z a-z 0-9 _ . : / -");
        }
        return address;
    }

    boolean tls() {
        return uri.scheme().equals("memcacheds");
    }

    String host() {
        return uri.hosts().get(0).name();
    }

    int port() {
        return uri.hosts().get(0).portOr(DEFAULT_PORT);
    }

    /** The server to connect to. */
    ConnectDiagnosis.Target target() {
        return new ConnectDiagnosis.Target(
                toString(), List.of(new LockUri.Host(host(), port())), tls(), tls() ? "memcached://" : "memcacheds://");
    }

    /** The start of all keys. */
    String prefix() {
        String path = uri.path().replaceFirst("^/", "");
        return path.isEmpty() ? MemcachedLocks.PREFIX : path;
    }

    /** Omits user, password and parameters. */
    @Override
    public String toString() {
        return uri.scheme() + "://" + host() + ":" + port();
    }
}
