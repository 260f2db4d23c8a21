package dev.holdfast.lock.spring.boot;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.redis.RedisLocks;
import dev.holdfast.lock.spring.boot.HoldfastProperties.Backend;
import io.lettuce.core.AbstractRedisClient;
import io.lettuce.core.RedisClient;
import io.lettuce.core.cluster.RedisClusterClient;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/** Locks over the Lettuce client of the application's connection factory. */
@Configuration(proxyBeanMethods = false)
@ConditionalOnClass({RedisLocks.class, LettuceConnectionFactory.class})
@ConditionalOnBean(LettuceConnectionFactory.class)
class RedisBackend {

    @Bean
    BackendCandidate holdfastRedis(
            HoldfastProperties properties,
            ListableBeanFactory beans,
            ObjectProvider<LettuceConnectionFactory> factories) {
        return OnlyBean.candidate(
                Backend.REDIS,
                LettuceConnectionFactory.class,
                factories,
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
