package dev.holdfast.lock.spring.boot;

import dev.holdfast.lock.spring.aop.UnlockedMethodsWarning;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Condition;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Role;
import org.springframework.core.env.Environment;
import org.springframework.core.type.AnnotatedTypeMetadata;

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
        boolean all = !ConditionalOnSwitch.On.isOn(environment, "holdfast.enabled", true);
        return new UnlockedMethodsWarning(beans, all ? "holdfast.enabled" : "holdfast.annotation.enabled");
    }

    /** A class with annotations for the same would have to be read at every start. */
    static final class SwitchedOff implements Condition {
        @Override
        public boolean matches(ConditionContext context, AnnotatedTypeMetadata metadata) {
            Environment environment = context.getEnvironment();
            return !ConditionalOnSwitch.On.isOn(environment, "holdfast.enabled", true)
                    || !ConditionalOnSwitch.On.isOn(environment, "holdfast.annotation.enabled", true);
        }
    }
}
