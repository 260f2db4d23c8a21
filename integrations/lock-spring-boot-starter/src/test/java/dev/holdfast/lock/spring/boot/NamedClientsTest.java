package dev.holdfast.lock.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.memory.MemoryStore;
import dev.holdfast.lock.spring.LockTemplate;
import dev.holdfast.lock.spring.Locked;
import dev.holdfast.lock.spring.LockedJob;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.condition.ConditionEvaluationReport;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** Several clients from properties, each injected by its qualifier. */
class NamedClientsTest {
    private final ApplicationContextRunner empty = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(HoldfastAutoConfiguration.class, LockedAutoConfiguration.class));
    private final ApplicationContextRunner runner = empty.withPropertyValues(
            "holdfast.lock.lease=9s",
            "holdfast.who=shop",
            "holdfast.clients.orders.uri=memory:named-orders",
            "holdfast.clients.orders.lock.lease=5s",
            "holdfast.clients.stock.uri=memory:named-stock",
            "holdfast.clients.stock.who=stock-1");

    record Injected(LockClient orders, LockClient stock) {}

    static class Service {
        @Locked(name = "a", client = "orders")
        public long orders() {
            return MemoryStore.named("named-orders").entries("a");
        }

        @LockedJob(value = "a", client = "stockLockClient")
        public void stock() {
            assertThat(MemoryStore.named("named-stock").entries("a")).isEqualTo(1);
        }
    }

    @Configuration
    static class Application {
        @Bean
        Injected injected(@Qualifier("orders") LockClient orders, @Qualifier("stock") LockClient stock) {
            return new Injected(orders, stock);
        }

        @Bean
        Service service() {
            return new Service();
        }
    }

    @Test
    void clients_areInjectedByQualifier_andNamedInAnnotations() {
        runner.withUserConfiguration(Application.class).run(context -> {
            Injected injected = context.getBean(Injected.class);
            assertThat(context.getBeansOfType(LockClient.class))
                    .containsOnlyKeys("ordersLockClient", "stockLockClient")
                    .containsValues(injected.orders(), injected.stock());
            assertThat(injected.orders().lock("a").options().lease()).isEqualTo(Duration.ofSeconds(5));
            assertThat(injected.stock().lock("a").options().lease()).isEqualTo(Duration.ofSeconds(9));
            assertThat(context.getBean(Service.class).orders()).isEqualTo(1);
            context.getBean(Service.class).stock();
            assertThat(context).doesNotHaveBean(LockTemplate.class);
        });
    }

    @Test
    void clientWithoutName_isTheOneThatIsInjectedWithoutQualifier() {
        runner.withPropertyValues("holdfast.uri=memory:unnamed")
                .withUserConfiguration(Application.class)
                .run(context -> {
                    LockClient unnamed = context.getBean("holdfastLockClient", LockClient.class);
                    assertThat(context.getBean(LockClient.class)).isSameAs(unnamed);
                    assertThat(context.getBean(Injected.class).orders()).isNotSameAs(unnamed);
                    context.getBean(LockTemplate.class)
                            .run(
                                    "a",
                                    lease -> assertThat(
                                                    MemoryStore.named("unnamed").entries("a"))
                                            .isEqualTo(1));
                });
    }

    @Test
    void mistakes_endTheStartWithTheProperty() {
        empty.withPropertyValues("holdfast.clients.orders.who=shop").run(context -> {
            FailureAnalysis analysis = FailureAnalyses.of(context.getStartupFailure());
            assertThat(analysis.getDescription()).isEqualTo("The lock client 'orders' has no address.");
            assertThat(analysis.getAction()).isEqualTo("Set holdfast.clients.orders.uri.");
        });
        empty.withPropertyValues("holdfast.clients.orders.uri=nosuch:x")
                .run(context -> assertThat(
                                FailureAnalyses.of(context.getStartupFailure()).getDescription())
                        .startsWith("The value of holdfast.clients.orders.uri is not acceptable"));
        empty.withPropertyValues("holdfast.clients.orders.uri=memory:", "holdfast.clients.orders.lock.lease=0s")
                .run(context -> assertThat(
                                FailureAnalyses.of(context.getStartupFailure()).getDescription())
                        .startsWith("The value of holdfast.clients.orders.lock.lease is not acceptable"));
    }

    @Test
    void passwords_areNotShown() {
        runner.withPropertyValues("holdfast.clients.orders.uri=memory:s3cret")
                .run(context -> assertThat(
                                context.getBean(HoldfastProperties.class).toString())
                        .contains("orders=Client[uri=memory:******", "who=stock-1")
                        .doesNotContain("s3cret"));
    }

    @Configuration
    static class NeedsOne {
        @Bean
        String needs(LockClient client) {
            return client.toString();
        }
    }

    @Configuration
    static class NeedsTemplate {
        @Bean
        String needs(LockTemplate template) {
            return template.toString();
        }
    }

    static class WithoutClient {
        @Locked("a")
        public void go() {}
    }

    @Test
    void severalClients_andNoQualifier_areNamedByTheAnalysis() {
        runner.withUserConfiguration(NeedsOne.class).run(context -> {
            FailureAnalysis analysis = FailureAnalyses.of(context.getStartupFailure());
            assertThat(analysis.getDescription())
                    .isEqualTo(
                            "The bean 'needs' needs a lock client, and there are several: ordersLockClient,stockLockClient.");
            assertThat(analysis.getAction()).contains("@Qualifier", "@Locked(client = …)", "@Primary");
        });
        runner.withUserConfiguration(NeedsTemplate.class)
                .run(context -> assertThat(
                                FailureAnalyses.of(context.getStartupFailure()).getDescription())
                        .startsWith("The bean 'needs' needs a LockTemplate.")
                        .contains("there are several, or none"));
        runner.withBean(WithoutClient.class, WithoutClient::new)
                .run(context -> assertThat(
                                FailureAnalyses.of(context.getStartupFailure()).getDescription())
                        .contains("WithoutClient.go", "ordersLockClient,stockLockClient"));
    }

    @Test
    void conditionsReport_saysWhyThereIsNoClientWithoutName() {
        runner.run(context -> {
            ConditionEvaluationReport report = ConditionEvaluationReport.get(
                    context.getSourceApplicationContext().getBeanFactory());
            assertThat(report.getConditionAndOutcomesBySource()
                            .get(HoldfastAutoConfiguration.class.getName() + "#holdfastLockClient"))
                    .anySatisfy(condition -> assertThat(condition.getOutcome().getMessage())
                            .contains("holdfast.clients has [orders, stock]", "neither holdfast.uri"));
        });
    }

    @Test
    void optionsThatTheStoreRefuses_endTheStart() {
        runner.withPropertyValues(
                        "holdfast.clients.stock.uri=jdbc:h2:mem:stock;holdfast.createTable=true",
                        "holdfast.clients.stock.lock.lease=50ms")
                .run(context -> assertThat(
                                FailureAnalyses.of(context.getStartupFailure()).getDescription())
                        .contains("holdfast.clients.stock.lock", "a lease of 50 ms"));
    }
}
