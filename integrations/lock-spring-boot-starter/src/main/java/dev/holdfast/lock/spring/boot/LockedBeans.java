package dev.holdfast.lock.spring.boot;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.spring.LockTemplate;
import dev.holdfast.lock.spring.aop.LockedAdvisor;
import dev.holdfast.lock.spring.aop.LockedDefaults;
import dev.holdfast.lock.spring.hold.CallObserver;
import dev.holdfast.lock.spring.hold.LockedCalls;
import org.springframework.aop.config.AopConfigUtils;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.context.annotation.ImportBeanDefinitionRegistrar;
import org.springframework.core.env.Environment;
import org.springframework.core.type.AnnotationMetadata;

/**
 * The advice, which is made before most beans, so that it needs none of them until it is called; and what the first call needs,
 * which is made then.
 */
final class LockedBeans implements ImportBeanDefinitionRegistrar {
    private final Environment environment;

    LockedBeans(Environment environment) {
        this.environment = environment;
    }

    @Override
    public void registerBeanDefinitions(AnnotationMetadata importing, BeanDefinitionRegistry registry) {
        Definitions beans = new Definitions(registry, LockedBeans.class);
        beans.addIfMissing("holdfastLockedCalls", LockedCalls.class, true);
        if (beans.isUnique(LockClient.class)) {
            beans.addIfMissing("lockTemplate", LockTemplate.class, true);
        }
        if (!"false".equalsIgnoreCase(environment.getProperty("holdfast.annotation.enabled"))) {
            AopConfigUtils.registerAutoProxyCreatorIfNecessary(registry);
            beans.add("holdfastLockedDefaults", LockedDefaults.class, true);
            beans.addInfrastructure("holdfastLockedAdvisor", LockedAdvisor.class);
        }
    }

    static LockedCalls holdfastLockedCalls(HoldfastProperties properties, ObjectProvider<CallObserver> observer) {
        CallObserver unique = observer.getIfUnique();
        return new LockedCalls(properties.annotation().inTransaction(), unique == null ? CallObserver.NONE : unique);
    }

    static LockTemplate lockTemplate(LockClient client, LockedCalls calls, HoldfastProperties properties) {
        return new LockTemplate(client, calls, properties.annotation().longestWait());
    }

    /** The parameter has the name of the bean, which saves a look at all beans for its type. */
    static LockedAdvisor holdfastLockedAdvisor(Environment environment) {
        return new LockedAdvisor(
                environment.getProperty("holdfast.annotation.order", Integer.class, LockedAdvisor.DEFAULT_ORDER));
    }

    static LockedDefaults holdfastLockedDefaults(HoldfastProperties properties) {
        return new LockedDefaults(properties.annotation().longestWait());
    }
}
