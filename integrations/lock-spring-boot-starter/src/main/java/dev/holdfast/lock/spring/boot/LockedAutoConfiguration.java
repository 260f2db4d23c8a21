package dev.holdfast.lock.spring.boot;

import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.context.annotation.Import;

/** The advice of {@code @Locked}, and the template. */
@AutoConfiguration(after = HoldfastAutoConfiguration.class)
@ConditionalOnProperty(name = "holdfast.enabled", matchIfMissing = true)
@Import(LockedBeans.class)
public final class LockedAutoConfiguration {

    /** Creates the configuration, which is Spring's to do. */
    public LockedAutoConfiguration() {}
}
