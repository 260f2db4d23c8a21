package dev.holdfast.lock.spring.metrics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.micrometer.LockObservationContext;
import dev.holdfast.lock.spring.LockTemplate;
import dev.holdfast.lock.spring.Locked;
import dev.holdfast.lock.spring.OnBusy;
import dev.holdfast.lock.spring.boot.HoldfastAutoConfiguration;
import dev.holdfast.lock.spring.boot.LockedAutoConfiguration;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationHandler;
import io.micrometer.observation.ObservationRegistry;
import io.micrometer.observation.contextpropagation.ObservationThreadLocalAccessor;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Each guarded call is one observation with the lock's name and token, whatever it returns. */
class LocksObservationAutoConfigurationTest {
    private final List<LockObservationContext> ended = new CopyOnWriteArrayList<>();
    private final ObservationRegistry registry = ObservationRegistry.create();
    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(
                    HoldfastAutoConfiguration.class,
                    LockedAutoConfiguration.class,
                    LocksObservationAutoConfiguration.class))
            .withBean(ObservationRegistry.class, () -> registry)
            .withBean(Shop.class, Shop::new)
            .withPropertyValues("holdfast.uri=memory:observations");

    LocksObservationAutoConfigurationTest() {
        registry.observationConfig().observationHandler(new ObservationHandler<LockObservationContext>() {
            @Override
            public void onStop(LockObservationContext context) {
                ended.add(context);
            }

            @Override
            public boolean supportsContext(Observation.Context context) {
                return context instanceof LockObservationContext;
            }
        });
    }

    /** Locks in every way. */
    static class Shop {
        @Locked(name = "orders/#{#id}")
        public void sell(int id) {}

        @Locked(name = "orders/#{#id}")
        public void fail(int id) {
            throw new IllegalStateException("of the method");
        }

        @Locked(name = "orders/#{#id}", waitFor = "0s", onBusy = OnBusy.SKIP)
        public void skip(int id) {}

        @Locked(name = "orders/#{#id}")
        public CompletableFuture<String> later(int id, CompletableFuture<String> work) {
            return work;
        }

        @Locked(name = "orders/#{#id}")
        public Mono<String> mono(int id) {
            return Mono.just("done");
        }

        private volatile Observation onThread;

        public Observation onThread() {
            return onThread;
        }

        @Locked(name = "orders/#{#id}")
        public Mono<Observation> current(int id, ObservationRegistry registry) {
            onThread = registry.getCurrentObservation();
            return Mono.deferContextual(context -> Mono.just(context.get(ObservationThreadLocalAccessor.KEY)));
        }

        @Locked(name = "orders/#{#id}")
        public Flux<Observation> currents(int id, ObservationRegistry registry) {
            return current(id, registry).flux();
        }
    }

    private LockObservationContext only() {
        assertThat(ended).hasSize(1);
        return ended.remove(0);
    }

    private void assertAcquired(LockObservationContext context, String name) {
        assertThat(context.lockName()).isEqualTo(name);
        assertThat(context.outcome()).isEqualTo(LockObservationContext.Outcome.ACQUIRED);
        assertThat(context.token()).isPositive();
        assertThat(context.getHighCardinalityKeyValue("holdfast.lock.name").getValue())
                .isEqualTo(name);
        assertThat(context.getHighCardinalityKeyValue("holdfast.lock.token").getValue())
                .isEqualTo(String.valueOf(context.token()));
        assertThat(context.getLowCardinalityKeyValue("lock").getValue()).isEqualTo("orders");
    }

    @Test
    void annotatedMethods_andTheTemplate_areObserved() {
        runner.run(context -> {
            Shop shop = context.getBean(Shop.class);
            shop.sell(1);
            assertAcquired(only(), "orders/1");

            assertThatThrownBy(() -> shop.fail(2)).hasMessage("of the method");
            LockObservationContext failed = only();
            assertAcquired(failed, "orders/2");
            assertThat(failed.getError()).hasMessage("of the method");

            context.getBean(LockTemplate.class).run("orders/3", lease -> {
                assertThat(registry.getCurrentObservation()).isNotNull();
                assertThat(registry.getCurrentObservation().getContext()).isInstanceOf(LockObservationContext.class);
            });
            assertAcquired(only(), "orders/3");
            assertThat(registry.getCurrentObservation()).isNull();
        });
    }

    @Test
    void skippedCall_isBusy() {
        runner.run(context -> {
            try (Lease lease =
                    context.getBean(LockClient.class).lock("orders/1").acquire()) {
                context.getBean(Shop.class).skip(1);
            }
            LockObservationContext busy = only();
            assertThat(busy.outcome()).isEqualTo(LockObservationContext.Outcome.BUSY);
            assertThat(busy.token()).isNull();
        });
    }

    @Test
    void futureAndMono_areObservedUntilTheyAreDone() {
        runner.run(context -> {
            Shop shop = context.getBean(Shop.class);
            CompletableFuture<String> work = new CompletableFuture<>();
            CompletableFuture<String> result = shop.later(1, work);
            assertThat(ended).isEmpty();
            work.complete("done");
            assertThat(result.join()).isEqualTo("done");
            org.awaitility.Awaitility.await().until(() -> ended.size() == 1);
            assertAcquired(only(), "orders/1");

            Mono<String> mono = shop.mono(2);
            assertThat(ended).isEmpty();
            assertThat(mono.block()).isEqualTo("done");
            org.awaitility.Awaitility.await().until(() -> ended.size() == 1);
            assertAcquired(only(), "orders/2");
        });
    }

    @Test
    void publishers_haveTheCallersObservationAsTheirParent_andAreCurrentInTheirBody() {
        runner.run(context -> {
            Shop shop = context.getBean(Shop.class);
            Observation caller = Observation.start("caller", registry);
            Observation other = Observation.start("other", registry);
            for (Mono<Observation> body : List.of(
                    shop.current(1, registry), shop.currents(1, registry).next())) {
                Observation inContext;
                try (Observation.Scope scope =
                        other.openScope()) { // of the subscribing thread, not of the subscription
                    inContext = body.contextWrite(outer -> outer.put(ObservationThreadLocalAccessor.KEY, caller))
                            .block(Duration.ofSeconds(20));
                }
                org.awaitility.Awaitility.await().until(() -> ended.size() == 1);
                LockObservationContext own = only();
                assertAcquired(own, "orders/1");
                assertThat(own.getParentObservation()).isSameAs(caller);
                assertThat(inContext.getContext()).as("in the body's context").isSameAs(own);
                assertThat(shop.onThread().getContext())
                        .as("where the method runs")
                        .isSameAs(own);
                assertThat(registry.getCurrentObservation()).isNull();
            }
        });
    }

    @Test
    void publisherWithoutAnObservationInItsContext_hasThatOfTheThreadAsItsParent() {
        runner.run(context -> {
            Observation caller = Observation.start("caller", registry);
            try (Observation.Scope scope = caller.openScope()) {
                context.getBean(Shop.class).mono(1).block(Duration.ofSeconds(20));
            }
            org.awaitility.Awaitility.await().until(() -> ended.size() == 1);
            assertThat(only().getParentObservation()).isSameAs(caller);
        });
    }

    @Test
    void maxNames_boundsTheKeys() {
        runner.withPropertyValues("holdfast.metrics.max-names=1").run(context -> {
            LockTemplate template = context.getBean(LockTemplate.class);
            template.run("orders/1", lease -> {});
            template.run("stock/1", lease -> {});
            assertThat(ended)
                    .extracting(ended -> ended.getLowCardinalityKeyValue("lock").getValue())
                    .containsExactly("orders", "other");
        });
    }

    @Test
    void switchedOff_nothingIsObserved() {
        runner.withPropertyValues("holdfast.metrics.enabled=false").run(context -> {
            context.getBean(Shop.class).sell(1);
            assertThat(ended).isEmpty();
        });
    }
}
