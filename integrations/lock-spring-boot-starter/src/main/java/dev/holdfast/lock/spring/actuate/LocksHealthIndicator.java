package dev.holdfast.lock.spring.actuate;

import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;

/** Health on Boot 4. */
final class LocksHealthIndicator extends AbstractHealthIndicator {
    private final LocksHealth health;

    LocksHealthIndicator(LocksHealth health) {
        super("the lock store does not answer");
        this.health = health;
    }

    @Override
    protected void doHealthCheck(Health.Builder builder) {
        builder.up().withDetail("held", health.check());
    }
}
