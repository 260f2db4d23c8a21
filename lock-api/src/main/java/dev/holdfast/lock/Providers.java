package dev.holdfast.lock;

import dev.holdfast.lock.text.Libraries;
import dev.holdfast.lock.text.Scheme;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** Finds the provider for a URI. The URI never appears in a message, since it may contain a password. */
final class Providers {

    private static final int MAX_BROKEN = 100;

    private Providers() {}

    static LockClient connect(String uri, LockClientOptions options) {
        return connect(select(uri), uri, options);
    }

    /** Incompatible libraries cause a LinkageError, which callers that catch lock exceptions would miss. */
    static LockClient connect(LockProvider provider, String uri, LockClientOptions options) {
        try {
            return provider.connect(uri, options);
        } catch (LinkageError e) {
            throw new LockConfigurationException(
                    "connecting by '" + Scheme.of(uri) + "': "
                            + Libraries.explain(e, provider.getClass().getClassLoader()),
                    e);
        }
    }

    static LockProvider select(String uri) {
        ClassLoader own = Providers.class.getClassLoader();
        ClassLoader context = Thread.currentThread().getContextClassLoader();
        ServiceLoader<LockProvider> first = ServiceLoader.load(LockProvider.class, own);
        return context == null || context == own
                ? select(uri, first)
                : selectFrom(uri, List.of(first, ServiceLoader.load(LockProvider.class, context)));
    }

    static LockProvider select(String uri, Iterable<LockProvider> providers) {
        return selectFrom(uri, List.of(providers));
    }

    /**
     * Selects the provider of a URI.
     *
     * @param sources the providers as this library's own loader finds them, and as the caller's context loader does. A thread of the
     *     common pool has a context loader that does not see the libraries of a fat jar or of a web application.
     */
    private static LockProvider selectFrom(String uri, List<? extends Iterable<LockProvider>> sources) {
        String scheme = Scheme.of(uri);
        TreeSet<String> found = new TreeSet<>();
        List<LockProvider> serving = new ArrayList<>();
        List<ServiceConfigurationError> broken = new ArrayList<>();
        Set<String> seen = new HashSet<>();
        for (Iterable<LockProvider> source : sources) {
            Set<String> seenHere = new HashSet<>();
            Iterator<LockProvider> each = source.iterator();
            for (LockProvider provider = next(each, broken); provider != null; provider = next(each, broken)) {
                seenHere.add(provider.getClass().getName());
                try {
                    found.addAll(provider.schemes());
                    if (provider.schemes().contains(scheme)
                            && !seen.contains(provider.getClass().getName())) {
                        serving.add(provider);
                    }
                } catch (LinkageError e) {
                    broken.add(unlinked(provider.getClass(), e));
                }
            }
            seen.addAll(seenHere);
        }
        if (serving.size() > 1) {
            throw new LockConfigurationException("several lock providers serve the URI scheme '" + scheme + "': "
                    + serving.stream()
                            .map(provider -> provider.getClass().getName())
                            .sorted()
                            .toList()
                    + "; leave only one of them on the class path");
        }
        if (serving.size() == 1) {
            return serving.get(0);
        }
        if (!broken.isEmpty()) {
            ServiceConfigurationError first = broken.get(0);
            throw new LockConfigurationException(
                    "no lock provider that works serves the URI scheme '" + scheme + "': " + first.getMessage()
                            + "; complete or align the backend's dependencies",
                    first);
        }
        throw new IllegalArgumentException("no lock provider serves the URI scheme '" + scheme + "'; found "
                + (found.isEmpty() ? "no providers at all" : found)
                + "; add the backend's module (lock-redis, lock-etcd, lock-zookeeper, lock-consul, lock-memcached, lock-jdbc)"
                + " to the class path");
    }

    /** Returns the next provider that can be loaded, or null; skips providers whose dependencies are missing. */
    private static @Nullable LockProvider next(Iterator<LockProvider> each, List<ServiceConfigurationError> broken) {
        while (broken.size() < MAX_BROKEN) {
            try {
                return each.hasNext() ? each.next() : null;
            } catch (ServiceConfigurationError e) {
                broken.add(e);
            } catch (LinkageError e) {
                broken.add(unlinked(LockProvider.class, e));
            }
        }
        return null;
    }

    private static ServiceConfigurationError unlinked(Class<?> needing, LinkageError failure) {
        return new ServiceConfigurationError(
                needing.getName() + ": " + Libraries.explain(failure, needing.getClassLoader()), failure);
    }
}
