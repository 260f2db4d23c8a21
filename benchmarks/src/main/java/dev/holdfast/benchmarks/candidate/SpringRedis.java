package dev.holdfast.benchmarks.candidate;

import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.integration.redis.util.RedisLockRegistry;
import org.springframework.integration.redis.util.RedisLockRegistry.RedisLockType;

/** Spring Integration's lock registry on Redis, with pub/sub or spinning; it renews nothing by default. */
final class SpringRedis implements Candidate {
    private final String name;
    private final RedisLockType type;

    private SpringRedis(String name, RedisLockType type) {
        this.name = name;
        this.type = type;
    }

    static SpringRedis pubSub() {
        return new SpringRedis("spring-pubsub", RedisLockType.PUB_SUB_LOCK);
    }

    static SpringRedis spin() {
        return new SpringRedis("spring-spin", RedisLockType.SPIN_LOCK);
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public Role role() {
        return Role.PEER;
    }

    @Override
    public boolean representative() {
        return type == RedisLockType.PUB_SUB_LOCK;
    }

    @Override
    public Session open(String address) {
        LettuceConnectionFactory connections = RedisConnections.lettuce(address);
        RedisLockRegistry registry = new RedisLockRegistry(connections, "spring");
        registry.setRedisLockType(type);
        return new Session() {
            @Override
            public NamedLock lock(String lockName) {
                return NamedLock.of(registry.obtain(lockName));
            }

            @Override
            public void close() {
                registry.destroy();
                connections.destroy();
            }
        };
    }
}
