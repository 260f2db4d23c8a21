package dev.holdfast.lock.spring.boot;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.spring.LockTemplate;
import dev.holdfast.lock.spring.aop.LockedAdvisor;
import dev.holdfast.lock.spring.hold.CallObserver;
import dev.holdfast.lock.spring.hold.LockedCalls;
import org.springframework.aop.config.AopConfigUtils;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.ImportBeanDefinitionRegistrar;
import org.springframework.context.annotation.Lazy;
import org.springframework.context.annotation.Role;
import org.springframework.core.env.Environment;
import org.springframework.core.type.AnnotationMetadata;

/**
 * The advice of {@code @Locked}, and the template. The advice is made before most beans, so it needs none of them until it is
 * called; what the first call needs is made then.
 */
@AutoConfiguration(after = HoldfastAutoConfiguration.class)
@ConditionalOnSwitch
public final class LockedAutoConfiguration {

    /** Creates the configuration, which is Spring's to do. */
    public LockedAutoConfiguration() {}

    @Bean
    @Lazy
    @ConditionalOnMissingBean
    static LockedCalls holdfastLockedCalls(HoldfastProperties properties, ObjectProvider<CallObserver> observer) {
        CallObserver unique = observer.getIfUnique();
        return new LockedCalls(properties.annotation().inTransaction(), unique == null ? CallObserver.NONE : unique);
    }

    @Bean
    @Lazy
    @ConditionalOnMissingBean
    @ConditionalOnSingleCandidate(LockClient.class)
    static LockTemplate holdfastLockTemplate(LockClient client, LockedCalls calls, HoldfastProperties properties) {
        return new LockTemplate(client, calls, properties.annotation().longestWait());
    }

    /** What annotated methods need. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnSwitch("holdfast.annotation.enabled")
    @Import(ProxyCreator.class)
    static class Advice {
        @Bean
        @Lazy
        static LockedAdvisor.Defaults holdfastLockedDefaults(
                HoldfastProperties properties, ApplicationEventPublisher publisher) {
            return new LockedAdvisor.Defaults(properties.annotation().longestWait(), publisher::publishEvent);
        }

        @Bean
        @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
        static LockedAdvisor holdfastLockedAdvisor(Environment environment) {
            return new LockedAdvisor(ConditionalOnSwitch.On.read(
                    environment, "holdfast.annotation.order", Integer.class, LockedAdvisor.DEFAULT_ORDER));
        }
    }

    /** Makes proxies, as for transactions. */
    static final class ProxyCreator implements ImportBeanDefinitionRegistrar {
        @Override
        public void registerBeanDefinitions(AnnotationMetadata importing, BeanDefinitionRegistry registry) {
            AopConfigUtils.registerAutoProxyCreatorIfNecessary(registry);
        }
    }
}
