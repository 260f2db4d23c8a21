package dev.holdfast.lock.spring.actuate;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.memory.MemoryStore;
import dev.holdfast.lock.spring.boot.HoldfastAutoConfiguration;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.boot.health.contributor.Status;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

/** Health of the store, by one request. */
class LocksHealthTest {
    private final MemoryStore store = MemoryStore.create();
    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(
                    AutoConfigurations.of(HoldfastAutoConfiguration.class, LocksActuatorAutoConfiguration.class))
            .withBean("locks", LockClient.class, () -> store.newClient(LockClientOptions.defaults()));

    @Test
    void health_isOffByDefault() {
        runner.run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(HealthIndicator.class));
    }

    @Test
    void health_isUp_byOneRequest_andDownWithoutAStore() throws Exception {
        runner.withPropertyValues("management.health.locks.enabled=true").run(context -> {
            LockClient client = context.getBean(LockClient.class);
            HealthIndicator indicator = context.getBean("locksHealthIndicator", HealthIndicator.class);
            try (Lease lease = client.lock("a").acquire()) {
                long before = store.commands();
                Health health = indicator.health();
                assertThat(store.commands() - before).as("requests").isEqualTo(1);
                assertThat(health.getStatus()).isEqualTo(Status.UP);
                assertThat(health.getDetails()).hasToString("{held={locks=1}}");
            }
            client.close();
            assertThat(indicator.health().getStatus()).isEqualTo(Status.DOWN);
        });
    }
}
