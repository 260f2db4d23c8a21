package dev.holdfast.lock.spring.metrics;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.micrometer.LockMetrics;
import dev.holdfast.lock.spring.boot.Definitions;
import dev.holdfast.lock.spring.boot.HoldfastProperties;
import java.util.Map;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.context.annotation.ImportBeanDefinitionRegistrar;
import org.springframework.core.env.Environment;
import org.springframework.core.type.AnnotationMetadata;

/** The meters, unless they are switched off or the application has its own. */
final class MetricsBeans implements ImportBeanDefinitionRegistrar {
    private final Environment environment;

    MetricsBeans(Environment environment) {
        this.environment = environment;
    }

    @Override
    public void registerBeanDefinitions(AnnotationMetadata importing, BeanDefinitionRegistry registry) {
        Definitions beans = new Definitions(registry, MetricsBeans.class);
        if (areSwitchedOn(environment) && !beans.isMissing(LockClient.class) && beans.isMissing(LockMetrics.class)) {
            beans.addIfMissing("holdfastLockMetrics", LockClientsMetrics.class, false);
        }
    }

    static boolean areSwitchedOn(Environment environment) {
        return !"false".equalsIgnoreCase(environment.getProperty("holdfast.enabled"))
                && !"false".equalsIgnoreCase(environment.getProperty("holdfast.metrics.enabled"));
    }

    static LockClientsMetrics holdfastLockMetrics(Map<String, LockClient> clients, HoldfastProperties properties) {
        return new LockClientsMetrics(clients, properties.metrics().maxNames());
    }
}
