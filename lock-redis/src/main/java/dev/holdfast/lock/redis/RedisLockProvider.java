package dev.holdfast.lock.redis;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockProvider;
import dev.holdfast.lock.redis.internal.connection.OwnedConnectionFactory;
import dev.holdfast.lock.redis.internal.connection.RedisUri;
import java.util.Set;

/**
 * Connects to {@code redis://[[user:]password@]host[:port][/database]},
 * {@code redis-sentinel://host:port,host:port#group} and
 * {@code redis-cluster://host:port,host:port} with the seeds of a cluster; with TLS {@code rediss://},
 * {@code rediss-sentinel://} and {@code rediss-cluster://}. Valkey's names ({@code valkey://}, {@code valkeys://} and so on) are the
 * same. The client has its own connections and threads.
 *
 * <p>Parameters: {@code clientName}, and with TLS {@code verifyPeer} ({@code FULL}, the default; {@code CA} does not check the
 * server's name; {@code NONE} checks nothing), and files in PEM: {@code ca}, the certificates of a private authority, and {@code cert}
 * and {@code key}, a client certificate and its key (PKCS#8, not encrypted).
 */
public final class RedisLockProvider implements LockProvider {

    /** For {@link java.util.ServiceLoader}. */
    public RedisLockProvider() {}

    @Override
    public Set<String> schemes() {
        return RedisUri.SCHEMES;
    }

    @Override
    public LockClient connect(String uri, LockClientOptions options) {
        return RedisLocks.builder(OwnedConnectionFactory.connect(uri, options.requestTimeout()))
                .options(options)
                .build();
    }
}
