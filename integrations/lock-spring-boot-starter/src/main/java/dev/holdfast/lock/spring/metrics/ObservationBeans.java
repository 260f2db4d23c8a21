package dev.holdfast.lock.spring.metrics;

import dev.holdfast.lock.micrometer.LockObservations;
import dev.holdfast.lock.spring.boot.Definitions;
import dev.holdfast.lock.spring.boot.HoldfastProperties;
import dev.holdfast.lock.spring.hold.CallObserver;
import io.micrometer.observation.ObservationRegistry;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.context.annotation.ImportBeanDefinitionRegistrar;
import org.springframework.core.env.Environment;
import org.springframework.core.type.AnnotationMetadata;

/** The observations, unless they are switched off; the first guarded call makes them. */
final class ObservationBeans implements ImportBeanDefinitionRegistrar {
    private final Environment environment;

    ObservationBeans(Environment environment) {
        this.environment = environment;
    }

    @Override
    public void registerBeanDefinitions(AnnotationMetadata importing, BeanDefinitionRegistry registry) {
        Definitions beans = new Definitions(registry, ObservationBeans.class);
        if (MetricsBeans.areSwitchedOn(environment) && !beans.isMissing(ObservationRegistry.class)) {
            beans.addIfMissing("holdfastLockObservations", LockObservations.class, true);
            beans.addIfMissing("holdfastCallObserver", CallObserver.class, true);
        }
    }

    static LockObservations holdfastLockObservations(ObservationRegistry registry, HoldfastProperties properties) {
        return new LockObservations(registry, properties.metrics().maxNames());
    }

    static CallObserver holdfastCallObserver(LockObservations observations) {
        return new ObservedCalls(observations);
    }
}
