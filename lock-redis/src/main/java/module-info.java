/** Locks on Redis and Valkey. */
module dev.holdfast.lock.redis {
    requires static org.jspecify;
    requires transitive dev.holdfast.lock;
    requires transitive lettuce.core;
    requires io.netty.buffer;
    requires io.netty.common;
    requires io.netty.handler;
    requires io.netty.resolver.dns;
    requires io.netty.transport;
    requires org.slf4j;

    exports dev.holdfast.lock.redis;

    provides dev.holdfast.lock.LockProvider with
            dev.holdfast.lock.redis.RedisLockProvider;
}
