package dev.holdfast.lock.spring.boot;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.spring.NamedLockOptions;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.sql.init.dependency.DependsOnDatabaseInitialization;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.ImportRuntimeHints;
import org.springframework.context.annotation.Lazy;
import org.springframework.core.env.Environment;

/**
 * Makes a {@link LockClient} of the application's properties and beans, unless it has one: from {@code holdfast.uri}, or on the
 * application's own data source or connection. A property that the library refuses, and a store that does not answer, end the
 * start.
 */
@AutoConfiguration
@ConditionalOnProperty(name = "holdfast.enabled", matchIfMissing = true)
@EnableConfigurationProperties(HoldfastProperties.class)
@ImportRuntimeHints(HoldfastRuntimeHints.class)
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
            HoldfastProperties properties, NamedLockOptions options, Environment environment) {
        String application = environment.getProperty("spring.application.name", "");
        return OptionsOfProperties.client(properties, options.defaults(), application);
    }

    @Bean
    @ConditionalOnMissingBean
    LockClient lockClient(
            HoldfastProperties properties,
            LockClientOptions options,
            ConfigurableListableBeanFactory beans,
            ObjectProvider<DatabaseReady> ready) {
        String uri = properties.uri();
        if (uri == null) {
            return StoreChoice.open(properties.backend(), BackendCandidates.find(properties, beans, ready), options);
        }
        if (uri.regionMatches(true, 0, "jdbc:", 0, 5)) {
            ready.getObject(); // perhaps the application's own database, and its migrations create the table
        }
        return StoreChoice.open(uri, options);
    }

    @Bean
    @Lazy
    @DependsOnDatabaseInitialization
    DatabaseReady holdfastDatabaseReady() {
        return new DatabaseReady();
    }

    @Bean
    static LockClientLifecycle holdfastLifecycle(ApplicationContext context, ConfigurableListableBeanFactory beans) {
        return new LockClientLifecycle(context, beans);
    }
}
