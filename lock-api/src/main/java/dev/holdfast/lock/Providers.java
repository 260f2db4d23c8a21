package dev.holdfast.lock;

import dev.holdfast.lock.text.Scheme;
import java.util.ArrayList;
import java.util.List;
import java.util.ServiceLoader;
import java.util.TreeSet;

/** Finds the provider for a URI. The URI itself never appears in a message, since it may hold a password. */
final class Providers {

    private Providers() {}

    static LockProvider select(String uri) {
        return select(uri, ServiceLoader.load(LockProvider.class));
    }

    static LockProvider select(String uri, Iterable<LockProvider> providers) {
        String scheme = Scheme.of(uri);
        TreeSet<String> found = new TreeSet<>();
        List<LockProvider> serving = new ArrayList<>();
        for (LockProvider provider : providers) {
            found.addAll(provider.schemes());
            if (provider.schemes().contains(scheme)) {
                serving.add(provider);
            }
        }
        if (serving.isEmpty()) {
            throw new IllegalArgumentException(
                    "no lock provider serves the URI scheme '" + scheme + "'; found "
                            + (found.isEmpty() ? "no providers at all" : found)
                            + "; add the backend's module (lock-redis, lock-etcd, lock-zookeeper, lock-jdbc) to the class path");
        }
        if (serving.size() > 1) {
            throw new LockConfigurationException("several lock providers serve the URI scheme '" + scheme + "': "
                    + serving.stream()
                            .map(provider -> provider.getClass().getName())
                            .sorted()
                            .toList()
                    + "; leave only one of them on the class path");
        }
        return serving.get(0);
    }
}
