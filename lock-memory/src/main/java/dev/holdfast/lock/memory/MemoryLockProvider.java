package dev.holdfast.lock.memory;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockProvider;
import java.util.Locale;
import java.util.Set;

/**
 * Connects to {@code memory:} and {@code memory:name}: one store per name, shared by all clients of the JVM. Names are not
 * percent-decoded and must not contain a question mark, since there are no parameters. Stateless and thread-safe.
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
        String name = uri.substring(prefix.length());
        int question = name.indexOf('?');
        if (question >= 0) {
            String parameter = name.substring(question + 1).split("[=&]", 2)[0];
            throw new IllegalArgumentException("the address of scheme 'memory' is malformed: parameter '" + parameter
                    + "' is unknown; it has no parameters, and a name must not contain a ?");
        }
        return MemoryStore.named(name).newClient(options);
    }
}
