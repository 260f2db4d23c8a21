package dev.holdfast.lock;

import java.util.Locale;
import java.util.Objects;
import java.util.ServiceLoader;
import java.util.TreeSet;

/** Finds the provider for a URI. The URI itself never appears in a message, since it may hold a password. */
final class Providers {

    private Providers() {}

    static LockProvider select(String uri) {
        Objects.requireNonNull(uri, "uri");
        int colon = uri.indexOf(':');
        if (colon <= 0) {
            throw new IllegalArgumentException(
                    "lock URI has no scheme; write it as scheme:address, for example redis://localhost:6379");
        }
        String scheme = uri.substring(0, colon).toLowerCase(Locale.ROOT);
        TreeSet<String> found = new TreeSet<>();
        for (LockProvider provider : ServiceLoader.load(LockProvider.class)) {
            if (provider.schemes().contains(scheme)) {
                return provider;
            }
            found.addAll(provider.schemes());
        }
        throw new IllegalArgumentException("no lock provider serves the URI scheme '" + scheme + "'; found "
                + (found.isEmpty() ? "no providers at all" : found)
                + "; add the backend's module (lock-redis, lock-etcd, lock-zookeeper, lock-jdbc) to the class path");
    }
}
