package dev.holdfast.lock.spring.boot;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.spring.LockTemplate;
import dev.holdfast.lock.spring.aop.LockedAdvisor;
import dev.holdfast.lock.spring.aop.LockedDefaults;
import dev.holdfast.lock.spring.aop.LockedStartUpCheck;
import dev.holdfast.lock.spring.hold.CallObserver;
import dev.holdfast.lock.spring.hold.LockedCalls;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.Role;
import org.springframework.core.env.Environment;

/** The advice of {@code @Locked}, and the template. */
@AutoConfiguration(after = HoldfastAutoConfiguration.class)
@ConditionalOnProperty(name = "holdfast.enabled", matchIfMissing = true)
public final class LockedAutoConfiguration {

    /** Creates the configuration, which is Spring's to do. */
    public LockedAutoConfiguration() {}

    @Bean
    @ConditionalOnMissingBean
    LockedCalls holdfastLockedCalls(HoldfastProperties properties, ObjectProvider<CallObserver> observer) {
        CallObserver unique = observer.getIfUnique();
        return new LockedCalls(properties.annotation().inTransaction(), unique == null ? CallObserver.NONE : unique);
    }

    @Bean
    @ConditionalOnMissingBean
    @ConditionalOnSingleCandidate(LockClient.class)
    LockTemplate lockTemplate(LockClient client, LockedCalls calls, HoldfastProperties properties) {
        return new LockTemplate(client, calls, properties.annotation().longestWait());
    }

    /** The advice, if there is Spring AOP. It is made before most beans, so it needs none of them until it is called. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(name = "org.springframework.aop.support.AbstractPointcutAdvisor")
    @ConditionalOnProperty(name = "holdfast.annotation.enabled", matchIfMissing = true)
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    @Import(ProxyCreator.class)
    static final class Advice {
        @Bean
        @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
        static LockedAdvisor holdfastLockedAdvisor(ConfigurableListableBeanFactory beans, Environment environment) {
            return new LockedAdvisor(
                    beans,
                    environment.getProperty("holdfast.annotation.order", Integer.class, LockedAdvisor.DEFAULT_ORDER));
        }

        @Bean
        @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
        static LockedStartUpCheck holdfastLockedStartUpCheck(
                ConfigurableListableBeanFactory beans, LockedAdvisor advisor) {
            return new LockedStartUpCheck(beans, advisor);
        }

        @Bean
        LockedDefaults holdfastLockedDefaults(HoldfastProperties properties) {
            return new LockedDefaults(properties.annotation().longestWait());
        }
    }
}
