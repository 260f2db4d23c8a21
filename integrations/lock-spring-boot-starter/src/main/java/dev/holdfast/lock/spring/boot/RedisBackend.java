package dev.holdfast.lock.spring.boot;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.redis.RedisLocks;
import dev.holdfast.lock.spring.boot.HoldfastProperties.Backend;
import io.lettuce.core.AbstractRedisClient;
import io.lettuce.core.RedisClient;
import io.lettuce.core.cluster.RedisClusterClient;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/** Locks over the Lettuce client of the application's connection factory. To be loaded only if lock-redis is there. */
final class RedisBackend {

    private RedisBackend() {}

    static @Nullable BackendCandidate candidate(HoldfastProperties properties, ConfigurableListableBeanFactory beans) {
        return OnlyBean.candidate(
                Backend.REDIS,
                LettuceConnectionFactory.class,
                beans,
                (factory, options) -> open(factory, properties.redis(), options));
    }

    private static LockClient open(
            LettuceConnectionFactory factory, HoldfastProperties.Redis properties, LockClientOptions options) {
        if (factory.getNativeClient() == null) {
            factory.start(); // does nothing if it runs; one without early start-up has no client before
        }
        RedisLocks.Builder builder = builder(factory.getNativeClient()).options(options);
        OptionsOfProperties.set("holdfast.redis.prefix", properties.prefix(), builder::prefix);
        return builder.build();
    }

    private static RedisLocks.Builder builder(@Nullable AbstractRedisClient client) {
        if (client instanceof RedisClusterClient cluster) {
            return RedisLocks.builder(cluster);
        }
        if (client instanceof RedisClient single) {
            return RedisLocks.builder(single);
        }
        throw new StoreChoiceException(
                "The LettuceConnectionFactory has no RedisClient or RedisClusterClient, but " + client + ".",
                "Set holdfast.uri, or define a LockClient bean.");
    }
}
