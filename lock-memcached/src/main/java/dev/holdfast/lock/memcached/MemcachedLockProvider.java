package dev.holdfast.lock.memcached;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockProvider;
import java.util.Set;

/**
 * Connects to {@code memcached://[user:password@]host[:port][/prefix]}, with TLS {@code memcacheds://…}, one server.
 * The prefix is the start of all keys, by default {@code holdfast}. User and password are those of memcached's {@code
 * -Y} file; SASL is not supported.
 *
 * <p>Parameter with TLS: {@code ca}, a file of certificates in PEM to trust instead of the JVM's.
 */
public final class MemcachedLockProvider implements LockProvider {

    /** For {@link java.util.ServiceLoader}. */
    public MemcachedLockProvider() {}

    @Override
    public Set<String> schemes() {
        return MemcachedUri.SCHEMES;
    }

    @Override
    public LockClient connect(String uri, LockClientOptions options) {
        return MemcachedLocks.connect(MemcachedUri.parse(uri), options);
    }
}
