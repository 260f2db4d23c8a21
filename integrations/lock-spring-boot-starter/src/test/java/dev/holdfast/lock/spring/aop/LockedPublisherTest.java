package dev.holdfast.lock.spring.aop;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockTimeoutException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spring.CurrentLease;
import dev.holdfast.lock.spring.Locked;
import dev.holdfast.lock.spring.LockedJob;
import dev.holdfast.lock.spring.ReactiveLease;
import dev.holdfast.lock.spring.SkippedCallEvent;
import dev.holdfast.lock.testkit.fault.Fault;
import dev.holdfast.lock.testkit.fault.Request;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationListener;
import org.springframework.context.PayloadApplicationEvent;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;

/** Methods that return a publisher: each subscription holds the lock. */
class LockedPublisherTest {
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    private final LockedApplication application = new LockedApplication();
    private final ApplicationContextRunner runner = application.with(Jobs.class);

    @Test
    void mono_acquiresAtEachSubscription_andReleasesBeforeItsValue() {
        runner.run(context -> {
            Mono<String> mono = context.getBean(Jobs.class)
                    .mono(() -> ReactiveLease.require().map(lease -> lease.name() + application.isFree("job")));
            assertThat(application.store.commands()).isZero();
            for (int i = 1; i <= 2; i++) {
                assertThat(mono.map(value -> value + application.isFree("job")).block(PATIENCE))
                        .isEqualTo("jobfalsetrue");
                assertThat(application.store.commands()).isEqualTo(i * (2 + 1 + 2)); // ours, and those of two looks
            }
        });
    }

    @Test
    void method_runsWithTheLock_asALockedCallOfItsThread() {
        runner.run(context -> {
            Jobs jobs = context.getBean(Jobs.class);
            assertThat(jobs.mono(() -> Mono.just(CurrentLease.require().name())).block(PATIENCE))
                    .isEqualTo("job");
            assertThat(CurrentLease.find()).isEmpty();
            assertThatThrownBy(() -> ReactiveLease.require().block(PATIENCE)).isInstanceOf(IllegalStateException.class);
        });
    }

    @Test
    void flux_holdsTheLock_untilItCompletes() {
        runner.run(context -> {
            Flux<Long> flux = context.getBean(Jobs.class)
                    .flux(() -> Flux.just(1, 2, 3)
                            .flatMap(i -> ReactiveLease.require().map(Lease::token)));
            List<Long> tokens = flux.collectList().block(PATIENCE);
            assertThat(tokens).hasSize(3).containsOnly(tokens.get(0));
            assertThat(application.store.commands()).isEqualTo(2);
            assertThat(application.isFree("job")).isTrue();
        });
    }

    @Test
    void error_ofTheMethodOrThePublisher_releases() {
        runner.run(context -> {
            Jobs jobs = context.getBean(Jobs.class);
            IllegalStateException own = new IllegalStateException();
            assertThatThrownBy(() -> jobs.mono(() -> {
                                throw own;
                            })
                            .block(PATIENCE))
                    .isSameAs(own);
            assertThatThrownBy(() -> jobs.flux(() -> Flux.error(own)).blockLast(PATIENCE))
                    .isSameAs(own);
            assertThat(application.isFree("job")).isTrue();
            assertThat(application.store.commands()).isEqualTo(6);
        });
    }

    @Test
    void cancel_whileItRuns_releases() {
        runner.run(context -> {
            Jobs jobs = context.getBean(Jobs.class);
            Disposable never = jobs.mono(Mono::never).subscribe();
            await().atMost(PATIENCE).until(() -> application.store.entries("job") == 1);
            never.dispose();
            await().atMost(PATIENCE).until(() -> application.store.entries("job") == 0);
        });
    }

    @Test
    void cancel_whileItWaits_leavesNothing() {
        runner.run(context -> {
            Jobs jobs = context.getBean(Jobs.class);
            try (LockClient other = application.other();
                    Lease held = other.lock("job").acquire()) {
                Disposable waiting = jobs.mono(() -> Mono.just("")).subscribe();
                await().atMost(PATIENCE).until(() -> application.store.entries("job") == 2);
                waiting.dispose();
                await().atMost(PATIENCE).until(() -> application.store.entries("job") == 1);
                assertThat(held.isValid()).isTrue();
            }
            assertThat(application.isFree("job")).isTrue();
        });
    }

    @Test
    void cancel_atAnyMoment_leavesNothing() {
        runner.run(context -> {
            Jobs jobs = context.getBean(Jobs.class);
            for (int i = 0; i < 300; i++) {
                Disposable running = jobs.mono(Mono::never).subscribe();
                for (int spin = 0; spin < i * 50; spin++) {
                    Thread.onSpinWait();
                }
                running.dispose();
            }
            await().atMost(PATIENCE).until(() -> application.store.entries("job") == 0);
        });
    }

    @Test
    void busy_isAnErrorOrEmpty() {
        List<String> skipped = new CopyOnWriteArrayList<>();
        ApplicationListener<PayloadApplicationEvent<SkippedCallEvent>> listener = new ApplicationListener<>() {
            @Override
            public void onApplicationEvent(PayloadApplicationEvent<SkippedCallEvent> event) {
                skipped.add(event.getPayload().method().getName());
            }
        };
        runner.withInitializer(context -> context.addApplicationListener(listener))
                .run(context -> {
                    Jobs jobs = context.getBean(Jobs.class);
                    try (LockClient other = application.other();
                            Lease held = other.lock("job").acquire()) {
                        assertThat(held.isValid()).isTrue();
                        assertThatThrownBy(() -> jobs.impatient().block(PATIENCE))
                                .isInstanceOf(LockTimeoutException.class)
                                .hasMessageContaining("Jobs.impatient");
                        assertThat(jobs.skipMono().blockOptional(PATIENCE)).isEmpty();
                        assertThat(jobs.skipFlux().collectList().block(PATIENCE))
                                .isEmpty();
                        assertThat(jobs.ran()).isZero();
                    }
                    assertThat(jobs.skipMono().block(PATIENCE)).isEqualTo(1);
                    assertThat(skipped).containsExactly("skipMono", "skipFlux");
                });
    }

    @Test
    void unreachableStoreOrBadName_isAnErrorAlways() {
        runner.run(context -> {
            Jobs jobs = context.getBean(Jobs.class);
            assertThatThrownBy(() -> jobs.named(null).block(PATIENCE))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("#{#id} is null");
            assertThat(application.store.commands()).isZero();
            application.backend.always(Request.ATTEMPT, Fault.REFUSED);
            assertThatThrownBy(() -> jobs.skipMono().block(PATIENCE)).isInstanceOf(LockUnavailableException.class);
        });
    }

    @Test
    void loss_isAnError_orSuppressedIntoOne() {
        runner.run(context -> {
            Jobs jobs = context.getBean(Jobs.class);
            assertThatThrownBy(() -> jobs.mono(() -> lost().thenReturn("done")).block(PATIENCE))
                    .isInstanceOf(LeaseLostException.class);
            IllegalStateException own = new IllegalStateException();
            assertThatThrownBy(
                            () -> jobs.flux(() -> lost().then(Mono.error(own))).blockLast(PATIENCE))
                    .isSameAs(own);
            assertThat(own.getSuppressed()).hasAtLeastOneElementOfType(LeaseLostException.class);
        });
    }

    private Mono<Void> lost() {
        return ReactiveLease.require().doOnNext(application::lose).then();
    }

    @Test
    void nestedSubscription_reenters() {
        runner.run(context -> {
            Jobs jobs = context.getBean(Jobs.class);
            Sinks.One<Long> token = Sinks.one();
            String result = jobs.mono(() -> ReactiveLease.require()
                            .doOnNext(lease -> token.tryEmitValue(lease.token()))
                            .then(jobs.mono(() -> ReactiveLease.require()
                                    .zipWith(token.asMono(), (lease, outer) -> "" + (lease.token() == outer)))))
                    .block(PATIENCE);
            assertThat(result).isEqualTo("true");
            assertThat(application.store.commands()).isEqualTo(2);
        });
    }

    static class Jobs {
        private final AtomicInteger ran = new AtomicInteger();

        public int ran() {
            return ran.get();
        }

        @Locked("job")
        public Mono<String> mono(Supplier<Mono<String>> work) {
            return work.get();
        }

        @Locked("job")
        public Flux<Long> flux(Supplier<? extends org.reactivestreams.Publisher<Long>> work) {
            return Flux.from(work.get());
        }

        @Locked("orders/#{#id}")
        public Mono<String> named(@Nullable String id) {
            return Mono.just("");
        }

        @Locked(name = "job", waitFor = "10ms")
        public Mono<String> impatient() {
            return Mono.just("");
        }

        @LockedJob("job")
        public Mono<Integer> skipMono() {
            return Mono.fromCallable(ran::incrementAndGet);
        }

        @LockedJob("job")
        public Flux<Integer> skipFlux() {
            return Flux.from(Mono.fromCallable(ran::incrementAndGet));
        }
    }
}
