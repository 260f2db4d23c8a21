package dev.holdfast.lock.spring.boot;

import dev.holdfast.lock.spring.aop.UnlockedMethodsWarning;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.AnyNestedCondition;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Role;
import org.springframework.core.env.Environment;

/** Where the locks of annotated methods are switched off: says so at the start. */
@AutoConfiguration
@Conditional(UnlockedAutoConfiguration.SwitchedOff.class)
public final class UnlockedAutoConfiguration {

    /** Creates the configuration, which is Spring's to do. */
    public UnlockedAutoConfiguration() {}

    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static UnlockedMethodsWarning holdfastUnlockedMethodsWarning(
            ConfigurableListableBeanFactory beans, Environment environment) {
        boolean all = !environment.getProperty("holdfast.enabled", Boolean.class, true);
        return new UnlockedMethodsWarning(beans, all ? "holdfast.enabled" : "holdfast.annotation.enabled");
    }

    static final class SwitchedOff extends AnyNestedCondition {
        SwitchedOff() {
            super(ConfigurationPhase.REGISTER_BEAN);
        }

        @ConditionalOnProperty(name = "holdfast.enabled", havingValue = "false")
        static final class Everything {}

        @ConditionalOnProperty(name = "holdfast.annotation.enabled", havingValue = "false")
        static final class Annotations {}
    }
}
