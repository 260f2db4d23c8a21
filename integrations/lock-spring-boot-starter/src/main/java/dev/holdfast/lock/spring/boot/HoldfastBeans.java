package dev.holdfast.lock.spring.boot;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.spring.LeaderEvents;
import dev.holdfast.lock.spring.NamedLockOptions;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.annotation.ImportBeanDefinitionRegistrar;
import org.springframework.core.env.Environment;
import org.springframework.core.type.AnnotationMetadata;

/** The client, and what it needs. */
final class HoldfastBeans implements ImportBeanDefinitionRegistrar {
    @Override
    public void registerBeanDefinitions(AnnotationMetadata importing, BeanDefinitionRegistry registry) {
        Definitions beans = new Definitions(registry, HoldfastBeans.class);
        beans.addIfMissing("holdfastLockOptions", NamedLockOptions.class, false);
        beans.addIfMissing("holdfastClientOptions", LockClientOptions.class, false);
        beans.addIfMissing("lockClient", LockClient.class, false);
        beans.add("holdfastDatabaseReady", DatabaseReady.class, true);
        beans.add("holdfastLifecycle", LockClientLifecycle.class, false);
        beans.addInfrastructure("holdfastElectionLifecycle", ElectionLifecycle.class);
        beans.addIfMissing("holdfastLeaderEvents", LeaderEvents.class, true);
    }

    static NamedLockOptions holdfastLockOptions(HoldfastProperties properties) {
        return OptionsOfProperties.named(properties);
    }

    static LockClientOptions holdfastClientOptions(
            HoldfastProperties properties, NamedLockOptions options, Environment environment) {
        String application = environment.getProperty("spring.application.name", "");
        return OptionsOfProperties.client(properties, options.defaults(), application);
    }

    static LockClient lockClient(
            HoldfastProperties properties,
            LockClientOptions options,
            ConfigurableListableBeanFactory beans,
            ObjectProvider<DatabaseReady> ready) {
        String uri = properties.uri();
        if (uri == null) {
            return StoreChoice.open(properties.backend(), BackendCandidates.find(properties, beans, ready), options);
        }
        PropertiesOfBeans.refuse(uri, properties);
        if (uri.regionMatches(true, 0, "jdbc:", 0, 5)) {
            ready.getObject(); // perhaps the application's own database, and its migrations create the table
        }
        return StoreChoice.open(uri, options);
    }

    static DatabaseReady holdfastDatabaseReady() {
        return new DatabaseReady();
    }

    static ElectionLifecycle holdfastElectionLifecycle() {
        return new ElectionLifecycle();
    }

    static LeaderEvents holdfastLeaderEvents(ApplicationEventPublisher publisher) {
        return new LeaderEvents(publisher);
    }

    static LockClientLifecycle holdfastLifecycle() {
        return new LockClientLifecycle();
    }
}
