package dev.holdfast.lock.spring.boot;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.util.Objects;
import org.springframework.boot.autoconfigure.condition.ConditionMessage;
import org.springframework.boot.autoconfigure.condition.ConditionOutcome;
import org.springframework.boot.autoconfigure.condition.SpringBootCondition;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.context.annotation.Conditional;
import org.springframework.core.convert.ConversionException;
import org.springframework.core.env.Environment;
import org.springframework.core.type.AnnotatedTypeMetadata;

/**
 * Only if {@code holdfast.enabled} and the named properties are on. Spring's {@code @ConditionalOnProperty} takes everything but
 * {@code false} for true, also {@code off}, which the binding of the same property takes for false. A value that is neither ends
 * the start.
 */
@Target({ElementType.TYPE, ElementType.METHOD})
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Conditional(ConditionalOnSwitch.On.class)
public @interface ConditionalOnSwitch {

    /**
     * Returns the properties besides {@code holdfast.enabled}.
     *
     * @return their names
     */
    String[] value() default {};

    /**
     * Returns whether the named properties are on if they are not set.
     *
     * @return default true
     */
    boolean onIfMissing() default true;

    /** Reads the properties. */
    final class On extends SpringBootCondition {
        @Override
        public ConditionOutcome getMatchOutcome(ConditionContext context, AnnotatedTypeMetadata metadata) {
            var attributes =
                    Objects.requireNonNull(metadata.getAnnotationAttributes(ConditionalOnSwitch.class.getName()));
            ConditionMessage.Builder message = ConditionMessage.forCondition(ConditionalOnSwitch.class);
            if (!isOn(context.getEnvironment(), "holdfast.enabled", true)) {
                return ConditionOutcome.noMatch(message.because("holdfast.enabled is false"));
            }
            boolean missing = Boolean.TRUE.equals(attributes.get("onIfMissing"));
            for (String property : (String[]) Objects.requireNonNull(attributes.get("value"))) {
                if (!isOn(context.getEnvironment(), property, missing)) {
                    return ConditionOutcome.noMatch(message.because(property + " is false"));
                }
            }
            return ConditionOutcome.match(message.because("nothing is switched off"));
        }

        static boolean isOn(Environment environment, String property, boolean missing) {
            return read(environment, property, Boolean.class, missing);
        }

        /** Reads a property before the others are bound; a value of another type is refused as it is there. */
        static <T> T read(Environment environment, String property, Class<T> type, T missing) {
            try {
                return environment.getProperty(property, type, missing);
            } catch (ConversionException | IllegalArgumentException e) {
                throw RefusedConfigurationException.of(property, environment.getProperty(property), type, e);
            }
        }
    }
}
