package dev.holdfast.lock.spring.boot;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockProvider;
import dev.holdfast.lock.spring.HoldfastConnectionDetails;
import dev.holdfast.lock.spring.LeaderEvents;
import dev.holdfast.lock.spring.NamedLockOptions;
import java.util.Locale;
import java.util.ServiceLoader;
import org.jspecify.annotations.Nullable;
import org.springframework.aot.hint.MemberCategory;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;
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
@ImportRuntimeHints(HoldfastAutoConfiguration.Hints.class)
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
            NamedLockOptions named,
            ConfigurableListableBeanFactory beans,
            ObjectProvider<BackendCandidates.DatabaseReady> ready,
            ObjectProvider<HoldfastConnectionDetails> details) {
        LockClient client = open(properties, options, beans, ready, details);
        return properties.clients().isEmpty() // else the options may be meant for one of those
                ? OptionsOfProperties.requireSupported(client, named)
                : client;
    }

    private static LockClient open(
            HoldfastProperties properties,
            LockClientOptions options,
            ConfigurableListableBeanFactory beans,
            ObjectProvider<BackendCandidates.DatabaseReady> ready,
            ObjectProvider<HoldfastConnectionDetails> details) {
        HoldfastConnectionDetails found = details.getIfAvailable();
        String uri = found == null ? properties.uri() : found.uri();
        if (uri == null) {
            return StoreChoice.open(properties.backend(), BackendCandidates.find(properties, beans, ready), options);
        }
        OptionsOfProperties.refuseBesideAddress(uri, properties);
        awaitMigrations(uri, ready);
        return StoreChoice.open(
                found == null ? "holdfast.uri" : "the HoldfastConnectionDetails", uri, "holdfast.lock", options);
    }

    /** An address may lead to the application's own database, whose migrations create the table. */
    static void awaitMigrations(String uri, ObjectProvider<BackendCandidates.DatabaseReady> ready) {
        if (uri.toLowerCase(Locale.ROOT).startsWith("jdbc:")) {
            ready.getObject();
        }
    }

    @Bean
    @Lazy
    static BackendCandidates.DatabaseReady holdfastDatabaseReady() {
        return new BackendCandidates.DatabaseReady();
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

    /** What a native image has to keep: the backends on the class path with their providers, the schema files of lock-jdbc, and the scripts of lock-redis. */
    static final class Hints implements RuntimeHintsRegistrar {
        @Override
        public void registerHints(RuntimeHints hints, @Nullable ClassLoader loader) {
            hints.resources().registerPattern("META-INF/services/" + LockProvider.class.getName());
            hints.resources().registerPattern("dev/holdfast/lock/jdbc/*.sql");
            hints.resources().registerPattern("dev/holdfast/lock/redis/internal/script/*.lua");
            hints.resources().registerPattern("dev/holdfast/lock/redis/internal/script/parts/*.lua");
            BackendCandidates.classes().forEach(name -> hints.reflection().registerTypeIfPresent(loader, name));
            hints.reflection()
                    .registerTypeIfPresent(
                            loader,
                            "org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory",
                            MemberCategory.INVOKE_DECLARED_METHODS); // BackendCandidates.OverRedis calls createClient
            ServiceLoader.load(LockProvider.class, loader).stream()
                    .forEach(provider -> hints.reflection()
                            .registerType(provider.type(), MemberCategory.INVOKE_PUBLIC_CONSTRUCTORS));
        }
    }
}
