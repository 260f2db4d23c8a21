package dev.holdfast.lock.redis;

import dev.holdfast.lock.ClientOptions;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockProvider;
import java.util.Set;

/**
 * Serves {@code redis://}, {@code rediss://} (TLS), {@code redis-sentinel://} and {@code rediss-sentinel://} addresses in
 * the forms that Lettuce documents, and {@code redis-cluster://[user:password@]host:port,host:port} (TLS:
 * {@code rediss-cluster://}) with the seeds of a cluster. The client has its own connections and threads.
 */
public final class RedisLockProvider implements LockProvider {

    /** For {@link java.util.ServiceLoader}. */
    public RedisLockProvider() {}

    @Override
    public Set<String> schemes() {
        return Set.of(
                "redis",
                "rediss",
                "redis-sentinel",
                "rediss-sentinel",
                "redis-cluster",
                "rediss-cluster",
                "redis-socket");
    }

    @Override
    public LockClient connect(String uri, ClientOptions options) {
        return RedisLocks.builder(OwnRedisSource.connect(uri, options.requestTimeout()))
                .options(options)
                .build();
    }
}
