package dev.holdfast.lock.spring.boot;

import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.ImportRuntimeHints;

/**
 * Makes a {@link dev.holdfast.lock.LockClient} of the application's properties and beans, unless it has one: from {@code
 * holdfast.uri}, or on the application's own data source or connection. A property that the library refuses, and a store that does
 * not answer, end the start.
 */
@AutoConfiguration
@ConditionalOnProperty(name = "holdfast.enabled", matchIfMissing = true)
@EnableConfigurationProperties(HoldfastProperties.class)
@ImportRuntimeHints(HoldfastRuntimeHints.class)
@Import(HoldfastBeans.class)
public final class HoldfastAutoConfiguration {

    /** Creates the configuration, which is Spring's to do. */
    public HoldfastAutoConfiguration() {}
}
