package dev.holdfast.lock.spring.boot;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.spring.NamedLockOptions;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;

/** Makes a {@link LockClient} of the application's properties and beans, unless it has one. */
@AutoConfiguration(
        afterName = {
            "org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration",
            "org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration",
            "org.springframework.boot.autoconfigure.jdbc.DataSourceAutoConfiguration",
            "org.springframework.boot.autoconfigure.data.redis.RedisAutoConfiguration"
        })
@ConditionalOnProperty(name = "holdfast.enabled", matchIfMissing = true)
@EnableConfigurationProperties(HoldfastProperties.class)
public final class HoldfastAutoConfiguration {

    /** Creates the configuration, which is Spring's to do. */
    public HoldfastAutoConfiguration() {}

    @Bean
    @ConditionalOnMissingBean
    NamedLockOptions holdfastLockOptions(HoldfastProperties properties) {
        return OptionsOfProperties.named(properties);
    }

    @Bean
    @ConditionalOnMissingBean
    LockClientOptions holdfastClientOptions(
            HoldfastProperties properties,
            NamedLockOptions options,
            @Value("${spring.application.name:}") String application) {
        return OptionsOfProperties.client(properties, options.defaults(), application);
    }

    @Bean
    @ConditionalOnMissingBean
    LockClient lockClient(HoldfastProperties properties, LockClientOptions options) {
        if (properties.uri() == null) {
            throw new IllegalStateException("no lock store: set holdfast.uri");
        }
        return LockClient.connect(properties.uri(), options);
    }
}
