package dev.holdfast.lock.memory;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockProvider;
import java.util.Locale;
import java.util.Set;

/**
 * Connects to {@code memory:} and {@code memory:name}: one store per name, shared by all clients of the JVM. Stateless
 * and thread-safe.
 */
public final class MemoryLockProvider implements LockProvider {
    private static final String SCHEME = "memory";

    /** For {@link java.util.ServiceLoader}. */
    public MemoryLockProvider() {}

    @Override
    public Set<String> schemes() {
        return Set.of(SCHEME);
    }

    @Override
    public LockClient connect(String uri, LockClientOptions options) {
        String prefix = SCHEME + ":";
        if (!uri.toLowerCase(Locale.ROOT).startsWith(prefix)) {
            throw new IllegalArgumentException("not a memory URI; write it as memory:name");
        }
        return MemoryStore.named(uri.substring(prefix.length())).newClient(options);
    }
}
