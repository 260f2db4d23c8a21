package dev.holdfast.lock.spring.boot;

import dev.holdfast.lock.redis.RedisLocks;
import dev.holdfast.lock.spring.boot.HoldfastProperties.Backend;
import io.lettuce.core.AbstractRedisClient;
import io.lettuce.core.RedisClient;
import io.lettuce.core.cluster.RedisClusterClient;
import java.lang.reflect.Method;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.DefaultSingletonBeanRegistry;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.util.ReflectionUtils;

/**
 * Locks over a Lettuce client that is made like that of the application's connection factory. The factory ends its own client
 * whenever the context is stopped or paused, and makes another at the next start; held locks have to be renewed meanwhile. To be
 * loaded only if lock-redis is there.
 */
final class RedisBackend {
    static final String CREATE = "createClient";

    private RedisBackend() {}

    static @Nullable BackendCandidate candidate(HoldfastProperties properties, ConfigurableListableBeanFactory beans) {
        return OnlyBean.candidate(Backend.REDIS, LettuceConnectionFactory.class, beans, (factory, options) -> {
            AbstractRedisClient client = newClient(factory);
            // Destroyed in the reverse order: after the lock client, before the application's ClientResources.
            ((DefaultSingletonBeanRegistry) beans).registerDisposableBean("holdfastRedisClient", client::shutdown);
            RedisLocks.Builder builder = builder(client).options(options);
            OptionsOfProperties.set("holdfast.redis.prefix", properties.redis().prefix(), builder::prefix);
            return Customizers.apply(beans, RedisLocks.Builder.class, builder).build();
        });
    }

    /** Calls the method by which the factory makes a client, which may be that of a subclass. */
    private static AbstractRedisClient newClient(LettuceConnectionFactory factory) {
        Method create = Objects.requireNonNull(
                ReflectionUtils.findMethod(factory.getClass(), CREATE), "LettuceConnectionFactory.createClient");
        ReflectionUtils.makeAccessible(create);
        return (AbstractRedisClient) Objects.requireNonNull(ReflectionUtils.invokeMethod(create, factory));
    }

    private static RedisLocks.Builder builder(AbstractRedisClient client) {
        if (client instanceof RedisClusterClient cluster) {
            return RedisLocks.builder(cluster);
        }
        if (client instanceof RedisClient single) {
            return RedisLocks.builder(single);
        }
        throw new RefusedConfigurationException(
                "The LettuceConnectionFactory makes no RedisClient or RedisClusterClient, but " + client + ".",
                "Set holdfast.uri, or define a LockClient bean.");
    }
}
