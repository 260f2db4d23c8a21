package dev.holdfast.lock.spring.actuate;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.spring.boot.ConditionalOnSwitch;
import dev.holdfast.lock.spring.boot.HoldfastAutoConfiguration;
import java.util.Map;
import org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint;
import org.springframework.boot.actuate.autoconfigure.endpoint.expose.EndpointExposure;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.Lazy;

/**
 * The endpoint {@code locks}, if it is exposed, and the health of the lock store, if {@code management.health.locks.enabled} is
 * set to true.
 */
@AutoConfiguration(
        after = HoldfastAutoConfiguration.class,
        beforeName = {
            "org.springframework.boot.health.autoconfigure.registry.HealthContributorRegistryAutoConfiguration",
            "org.springframework.boot.actuate.autoconfigure.health.HealthEndpointAutoConfiguration"
        })
@ConditionalOnClass({Endpoint.class, ConditionalOnAvailableEndpoint.class})
@ConditionalOnBean(LockClient.class)
@ConditionalOnSwitch
public final class LocksActuatorAutoConfiguration {

    /** Creates the configuration, which is Spring's to do. */
    public LocksActuatorAutoConfiguration() {}

    @Bean
    @ConditionalOnMissingBean
    @ConditionalOnAvailableEndpoint(endpoint = LocksEndpoint.class)
    LocksEndpoint locksEndpoint(@Lazy Map<String, LockClient> clients) {
        return new LocksEndpoint(clients);
    }

    @Bean
    @ConditionalOnMissingBean
    @ConditionalOnBean(LocksEndpoint.class)
    @ConditionalOnAvailableEndpoint(endpoint = LocksEndpoint.class, exposure = EndpointExposure.WEB)
    LocksEndpointWebExtension locksEndpointWebExtension(LocksEndpoint endpoint) {
        return new LocksEndpointWebExtension(endpoint);
    }

    /** Off by default: each look costs a request to the store. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnSwitch(value = "management.health.locks.enabled", onIfMissing = false)
    static class HealthConfiguration {

        @Bean
        LocksHealth locksHealth(@Lazy Map<String, LockClient> clients) {
            return new LocksHealth(clients);
        }

        /** On Boot 4. */
        @Configuration(proxyBeanMethods = false)
        @ConditionalOnClass(HealthIndicator.class)
        @ConditionalOnMissingBean(name = "locksHealthIndicator")
        static class Boot4 {
            @Bean
            LocksHealth.Indicator locksHealthIndicator(LocksHealth health) {
                return new LocksHealth.Indicator(health);
            }
        }

        /** On Boot 3. */
        @Configuration(proxyBeanMethods = false)
        @ConditionalOnClass(name = LocksHealth.Boot3.INDICATOR)
        @ConditionalOnMissingBean(name = "locksHealthIndicator")
        @Import(LocksHealth.Boot3.class)
        static class Boot3 {}
    }
}
