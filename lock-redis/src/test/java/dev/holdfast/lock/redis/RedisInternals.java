package dev.holdfast.lock.redis;

import dev.holdfast.lock.redis.internal.backend.RedisLockBackend;
import dev.holdfast.lock.redis.internal.backend.RedisSettings;
import dev.holdfast.lock.redis.internal.connection.ConnectionFactory;
import dev.holdfast.lock.spi.LockBackend;
import java.util.List;

/** What the tests of the inner packages use of this package, and users do not see. */
public final class RedisInternals {
    private RedisInternals() {}

    public static RedisLockBackend connect(ConnectionFactory factory, RedisSettings settings) {
        return RedisLocks.connect(factory, settings);
    }

    public static RedisLocks.Builder builder(ConnectionFactory factory) {
        return RedisLocks.builder(factory);
    }

    public static RedisLocks.Builder redlockOf(List<ConnectionFactory> masters) {
        return RedisLocks.redlockOf(masters);
    }

    public static LockBackend backend(RedisLocks.Builder builder) {
        return builder.backend();
    }
}
