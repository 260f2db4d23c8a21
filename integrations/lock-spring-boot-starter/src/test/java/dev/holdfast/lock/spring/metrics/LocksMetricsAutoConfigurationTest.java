package dev.holdfast.lock.spring.metrics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.micrometer.LockMetrics;
import dev.holdfast.lock.micrometer.LockObservations;
import dev.holdfast.lock.spring.actuate.LocksActuatorAutoConfiguration;
import dev.holdfast.lock.spring.actuate.LocksEndpoint;
import dev.holdfast.lock.spring.boot.HoldfastAutoConfiguration;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.observation.ObservationRegistry;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.springframework.boot.LazyInitializationBeanFactoryPostProcessor;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.micrometer.metrics.autoconfigure.MetricsAutoConfiguration;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

/** With Micrometer and lock-micrometer there, Boot binds the meters of each client. */
class LocksMetricsAutoConfigurationTest {
    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(
                    HoldfastAutoConfiguration.class,
                    LocksMetricsAutoConfiguration.class,
                    MetricsAutoConfiguration.class))
            .withBean(SimpleMeterRegistry.class, SimpleMeterRegistry::new)
            .withPropertyValues("holdfast.uri=memory:metrics");

    private static double holds(MeterRegistry registry, String... tags) {
        var timer = registry.find("holdfast.lock.hold").tags(tags).timer();
        return timer == null ? 0 : timer.count();
    }

    @Test
    void client_isMetered() {
        runner.run(context -> {
            MeterRegistry registry = context.getBean(MeterRegistry.class);
            context.getBean(LockClient.class).lock("orders/1").acquire().close();

            await().atMost(Duration.ofSeconds(20))
                    .until(() -> holds(registry, "store", "memory", "lock", "orders") == 1);
            assertThat(registry.get("holdfast.lock.releases.pending").gauge().value())
                    .isZero();
        });
    }

    @Test
    void lazyClient_isMadeByItsFirstUse_andHasMetersThen() {
        runner.withInitializer(context ->
                        context.addBeanFactoryPostProcessor(new LazyInitializationBeanFactoryPostProcessor()))
                .withConfiguration(AutoConfigurations.of(LocksActuatorAutoConfiguration.class))
                .withPropertyValues(
                        "management.endpoints.web.exposure.include=locks", "management.health.locks.enabled=true")
                .run(context -> {
                    MeterRegistry registry = context.getBean(MeterRegistry.class);
                    assertThat(context.getBean("locksHealth")).isNotNull();
                    assertThat(context.getBean(LocksEndpoint.class)).isNotNull();
                    assertThat(context.getBeanFactory().containsSingleton("holdfastLockClient"))
                            .as("nothing needed it")
                            .isFalse();

                    context.getBean(LockClient.class).lock("orders/1").acquire().close();
                    await().atMost(Duration.ofSeconds(20)).until(() -> holds(registry, "lock", "orders") == 1);
                    assertThat(context.getBean(LocksEndpoint.class).locks().clients())
                            .containsKey("holdfastLockClient");
                });
    }

    @Test
    void maxNames_boundsTheSeries() {
        runner.withPropertyValues("holdfast.metrics.max-names=1").run(context -> {
            MeterRegistry registry = context.getBean(MeterRegistry.class);
            for (String name : new String[] {"a", "b", "c"}) {
                context.getBean(LockClient.class).lock(name).acquire().close();
            }
            await().atMost(Duration.ofSeconds(20)).until(() -> holds(registry, "lock", "other") == 2);
            assertThat(holds(registry, "lock", "a")).isEqualTo(1);
        });
    }

    @Test
    void severalClients_areToldApart() {
        runner.withPropertyValues("holdfast.enabled=true")
                .withBean("one", LockClient.class, () -> LockClient.connect("memory:one"))
                .withBean("two", LockClient.class, () -> LockClient.connect("memory:two"))
                .run(context -> {
                    MeterRegistry registry = context.getBean(MeterRegistry.class);
                    context.getBean("one", LockClient.class)
                            .lock("orders/1")
                            .acquire()
                            .close();

                    await().atMost(Duration.ofSeconds(20))
                            .until(() -> holds(registry, "lock", "orders", "client", "one") == 1);
                    assertThat(registry.find("holdfast.events.dropped").functionCounters())
                            .extracting(counter -> counter.getId().getTag("client"))
                            .containsExactlyInAnyOrder("one", "two");
                });
    }

    @Test
    void withoutHoldfast_anOwnClientHasNone() {
        runner.withPropertyValues("holdfast.enabled=false", "management.endpoints.web.exposure.include=locks")
                .withConfiguration(AutoConfigurations.of(
                        LocksObservationAutoConfiguration.class, LocksActuatorAutoConfiguration.class))
                .withBean(ObservationRegistry.class, ObservationRegistry::create)
                .withBean(LockClient.class, () -> LockClient.connect("memory:own"))
                .run(context -> assertThat(context)
                        .hasNotFailed()
                        .doesNotHaveBean(LocksMetricsAutoConfiguration.LockClientsMetrics.class)
                        .doesNotHaveBean(LockObservations.class)
                        .doesNotHaveBean(LocksEndpoint.class));
    }

    @Test
    void closedApplication_leavesNoGauges() {
        SimpleMeterRegistry[] kept = new SimpleMeterRegistry[1];
        runner.run(context -> {
            kept[0] = context.getBean(SimpleMeterRegistry.class);
            context.getBean(LockClient.class).lock("orders/1").acquire().close();
            await().atMost(Duration.ofSeconds(20))
                    .until(() -> kept[0].find("holdfast.lock.held").gauge() != null);
            assertThat(kept[0].find("holdfast.lock.releases.pending").gauge()).isNotNull();
        });
        assertThat(kept[0].find("holdfast.lock.held").gauges()).isEmpty();
        assertThat(kept[0].find("holdfast.lock.releases.pending").gauges()).isEmpty();
        assertThat(kept[0].find("holdfast.events.dropped").functionCounters()).isEmpty();
    }

    @Test
    void switchedOff_orReplaced_orWithoutTheModule_thereAreNone() {
        runner.withPropertyValues("holdfast.metrics.enabled=false")
                .run(context ->
                        assertThat(context).doesNotHaveBean(LocksMetricsAutoConfiguration.LockClientsMetrics.class));
        runner.withBean(LockMetrics.class, () -> LockMetrics.of(LockClient.connect("memory:own")))
                .run(context ->
                        assertThat(context).doesNotHaveBean(LocksMetricsAutoConfiguration.LockClientsMetrics.class));
        runner.withClassLoader(new FilteredClassLoader(LockMetrics.class))
                .run(context -> assertThat(context)
                        .hasNotFailed()
                        .hasSingleBean(LockClient.class)
                        .doesNotHaveBean(LocksMetricsAutoConfiguration.LockClientsMetrics.class));
    }
}
