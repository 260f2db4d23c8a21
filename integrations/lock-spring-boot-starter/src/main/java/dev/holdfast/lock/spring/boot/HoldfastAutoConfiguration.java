package dev.holdfast.lock.spring.boot;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.spring.HoldfastConnectionDetails;
import dev.holdfast.lock.spring.LeaderEvents;
import dev.holdfast.lock.spring.NamedLockOptions;
import java.util.Locale;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.ImportRuntimeHints;
import org.springframework.context.annotation.Lazy;
import org.springframework.context.annotation.Role;
import org.springframework.core.env.Environment;

/**
 * Makes a {@link dev.holdfast.lock.LockClient} of the application's properties and beans, unless it has one: from its {@link
 * HoldfastConnectionDetails}, from {@code holdfast.uri}, or on the application's own data source or connection; and one for each entry of {@code holdfast.clients}. A
 * property that the library refuses, and a store that does not answer, end the start.
 */
@AutoConfiguration
@ConditionalOnSwitch
@EnableConfigurationProperties(HoldfastProperties.class)
@ImportRuntimeHints(HoldfastRuntimeHints.class)
@Import(NamedClients.class)
public final class HoldfastAutoConfiguration {

    /** Creates the configuration, which is Spring's to do. */
    public HoldfastAutoConfiguration() {}

    @Bean
    @ConditionalOnMissingBean
    static NamedLockOptions holdfastLockOptions(HoldfastProperties properties) {
        return OptionsOfProperties.named(properties);
    }

    @Bean
    @ConditionalOnMissingBean
    static LockClientOptions holdfastClientOptions(
            HoldfastProperties properties, NamedLockOptions options, Environment environment) {
        String application = environment.getProperty("spring.application.name", "");
        return OptionsOfProperties.client(properties, options.defaults(), application);
    }

    @Bean
    @ConditionalOnMissingBean
    @Conditional(NamedClients.LeaveOneWithoutName.class)
    static LockClient holdfastLockClient(
            HoldfastProperties properties,
            LockClientOptions options,
            ConfigurableListableBeanFactory beans,
            ObjectProvider<DatabaseReady> ready,
            ObjectProvider<HoldfastConnectionDetails> details) {
        HoldfastConnectionDetails found = details.getIfAvailable();
        String uri = found == null ? properties.uri() : found.uri();
        if (uri == null) {
            return StoreChoice.open(properties.backend(), BackendCandidates.find(properties, beans, ready), options);
        }
        PropertiesOfBeans.refuse(uri, properties);
        awaitMigrations(uri, ready);
        return StoreChoice.open(found == null ? "holdfast.uri" : "the HoldfastConnectionDetails", uri, options);
    }

    /** An address may lead to the application's own database, whose migrations create the table. */
    static void awaitMigrations(String uri, ObjectProvider<DatabaseReady> ready) {
        if (uri.toLowerCase(Locale.ROOT).startsWith("jdbc:")) {
            ready.getObject();
        }
    }

    @Bean
    @Lazy
    static DatabaseReady holdfastDatabaseReady() {
        return new DatabaseReady();
    }

    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static LockClientLifecycle holdfastLifecycle() {
        return new LockClientLifecycle();
    }

    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static ElectionLifecycle holdfastElectionLifecycle() {
        return new ElectionLifecycle();
    }

    @Bean
    @Lazy
    @ConditionalOnMissingBean
    static LeaderEvents holdfastLeaderEvents(ApplicationEventPublisher publisher) {
        return new LeaderEvents(publisher);
    }
}
