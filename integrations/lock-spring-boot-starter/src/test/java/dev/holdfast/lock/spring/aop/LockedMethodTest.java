package dev.holdfast.lock.spring.aop;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockTimeoutException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.spring.CurrentLease;
import dev.holdfast.lock.spring.Locked;
import dev.holdfast.lock.spring.LockedJob;
import dev.holdfast.lock.spring.OnBusy;
import dev.holdfast.lock.spring.SkippedCallEvent;
import dev.holdfast.lock.spring.hold.LockInterruptedException;
import dev.holdfast.lock.testkit.fault.Fault;
import dev.holdfast.lock.testkit.fault.Request;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.NullUnmarked;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.config.BeanFactoryPostProcessor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationListener;
import org.springframework.context.PayloadApplicationEvent;

/** Methods that return what they return when they are done. */
class LockedMethodTest {
    private final LockedApplication application = new LockedApplication();
    private final ApplicationContextRunner runner = application.with(Jobs.class);

    @Test
    void call_acquiresAndReleases_withTwoRequests() {
        runner.run(context -> {
            Jobs jobs = context.getBean(Jobs.class);
            long token = jobs.call(() -> CurrentLease.require().token());
            assertThat(token).isPositive();
            assertThat(application.store.commands()).isEqualTo(2);
            assertThat(CurrentLease.find()).isEmpty();
            assertThat(application.store.entries("job")).isZero();
            assertThat(jobs.call(() -> application.store.entries("job"))).isEqualTo(1);
            assertThat(application.store.commands()).isEqualTo(4);
        });
    }

    @Test
    void nestedCall_reenters_withoutARequest() {
        runner.run(context -> {
            Jobs jobs = context.getBean(Jobs.class);
            long depth = jobs.call(() -> {
                long outer = CurrentLease.require().token();
                long inner =
                        jobs.call(() -> jobs.call(() -> CurrentLease.require().token()));
                assertThat(inner).isEqualTo(outer);
                assertThat(CurrentLease.require().isValid()).isTrue();
                return application.store.commands();
            });
            assertThat(depth).isEqualTo(1);
            assertThat(application.store.commands()).isEqualTo(2);
        });
    }

    @Test
    void currentLease_isTheInnermost_andRefusesToBeClosed() {
        runner.run(context -> {
            Jobs jobs = context.getBean(Jobs.class);
            jobs.call(() -> {
                Lease outer = CurrentLease.require();
                outer.ensure(Duration.ofSeconds(5));
                assertThatThrownBy(outer::close).isInstanceOf(UnsupportedOperationException.class);
                jobs.named("other", () -> {
                    assertThat(CurrentLease.require().name()).isEqualTo("other");
                    return 0L;
                });
                assertThat(CurrentLease.require().token()).isEqualTo(outer.token());
                return 0L;
            });
            assertThatThrownBy(CurrentLease::require)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("@Locked");
        });
    }

    @Test
    void busy_throwsOrSkips() {
        runner.run(context -> {
            Jobs jobs = context.getBean(Jobs.class);
            try (LockClient other = application.other();
                    Lease held = other.lock("job").acquire()) {
                assertThat(held.isValid()).isTrue();
                assertThatThrownBy(() -> jobs.throwing())
                        .isInstanceOf(LockTimeoutException.class)
                        .hasMessageContaining("lock 'job' for Jobs.throwing");
                jobs.skip();
                assertThat(jobs.skipOptional()).isEmpty();
                assertThat(jobs.skipInt()).isEmpty();
                assertThat(jobs.skipNullable()).isNull();
                assertThat(jobs.skipBoxed()).isNull();
                assertThat(jobs.skipStage()).isCompletedWithValue(null);
                assertThat(jobs.skipOptionalStage()).isCompletedWithValue(Optional.empty());
                assertThat(jobs.ran()).isZero();
            }
            jobs.skip();
            assertThat(jobs.skipInt()).hasValue(1);
            assertThat(jobs.ran()).isEqualTo(2);
        });
    }

    @Test
    void skippedCall_isAnEvent_andAListenerThatThrowsDoesNotReachTheCaller() {
        List<SkippedCallEvent> events = new CopyOnWriteArrayList<>();
        ApplicationListener<PayloadApplicationEvent<SkippedCallEvent>> failing = new ApplicationListener<>() {
            @Override
            public void onApplicationEvent(PayloadApplicationEvent<SkippedCallEvent> event) {
                events.add(event.getPayload());
                throw new IllegalStateException("the listener fails");
            }
        };
        runner.withInitializer(context -> context.addApplicationListener(failing))
                .run(context -> {
                    Jobs jobs = context.getBean(Jobs.class);
                    try (LockClient other = application.other();
                            Lease lease = other.lock("job").acquire()) {
                        jobs.skip();
                    }
                    jobs.skip();
                    assertThat(events).containsExactly(new SkippedCallEvent("job", Jobs.class.getMethod("skip")));
                });
    }

    @Test
    void unreachableStore_throwsAlways() {
        runner.run(context -> {
            Jobs jobs = context.getBean(Jobs.class);
            application.backend.always(Request.ATTEMPT, Fault.REFUSED);
            assertThatThrownBy(jobs::skip).isInstanceOf(LockUnavailableException.class);
            assertThatThrownBy(jobs::skipStage).isInstanceOf(LockUnavailableException.class);
            assertThatThrownBy(jobs::throwing).isInstanceOf(LockUnavailableException.class);
            assertThat(jobs.ran()).isZero();
        });
    }

    @Test
    void loss_isThrown_whenTheMethodReturns() {
        runner.run(context -> {
            Jobs jobs = context.getBean(Jobs.class);
            assertThatThrownBy(() -> jobs.call(this::lose)).isInstanceOf(LeaseLostException.class);
            assertThat(jobs.call(() -> 5L)).isEqualTo(5);
        });
    }

    @Test
    void loss_isSuppressedIntoTheMethodsException() {
        runner.run(context -> {
            Jobs jobs = context.getBean(Jobs.class);
            IllegalStateException own = new IllegalStateException("the method's");
            assertThatThrownBy(() -> jobs.call(() -> {
                        lose();
                        throw own;
                    }))
                    .isSameAs(own);
            assertThat(own.getSuppressed()).singleElement().isInstanceOf(LeaseLostException.class);
            IllegalStateException alone = new IllegalStateException();
            assertThatThrownBy(() -> jobs.call(() -> {
                        throw alone;
                    }))
                    .isSameAs(alone);
            assertThat(alone.getSuppressed()).isEmpty();
            assertThat(application.store.entries("job")).isZero();
        });
    }

    private long lose() {
        CompletableFuture<LossReason> lost =
                CurrentLease.require().lost().toCompletableFuture().orTimeout(20, TimeUnit.SECONDS);
        application.lose(CurrentLease.require());
        assertThat(lost.join()).isEqualTo(LossReason.REVOKED);
        return 0;
    }

    @Test
    void wait_isInterruptible() {
        runner.run(context -> {
            Jobs jobs = context.getBean(Jobs.class);
            try (LockClient other = application.other();
                    Lease held = other.lock("job").acquire()) {
                assertThat(held.isValid()).isTrue();
                Thread.currentThread().interrupt();
                assertThatThrownBy(() -> jobs.call(() -> 0L)).isInstanceOf(LockInterruptedException.class);
                assertThat(Thread.currentThread().isInterrupted()).isTrue();
                assertThatThrownBy(jobs::interruptible).isExactlyInstanceOf(InterruptedException.class);
                assertThat(Thread.currentThread().isInterrupted()).isFalse();
            }
        });
    }

    @Test
    void options_areThoseOfTheAnnotation_overTheNamedOnes_overTheClients() {
        application
                .with(Batches.class)
                .withPropertyValues(
                        "holdfast.locks.batch.lease=40s", "holdfast.locks.batch.max-hold=2h", "batch.lease=50s")
                .withBean("second", LockClient.class, application::other)
                .withBean("primaryChooser", PrimaryLockClient.class)
                .run(context -> {
                    assertThat(context).hasNotFailed();
                    Batches jobs = context.getBean(Batches.class);
                    assertThat(jobs.batch()).isBetween(Duration.ofSeconds(35), Duration.ofSeconds(40));
                    assertThat(jobs.placeholder()).isBetween(Duration.ofSeconds(45), Duration.ofSeconds(50));
                    assertThat(jobs.secondClient()).isPositive();
                });
    }

    /** Makes the first of two clients the primary one. */
    static class PrimaryLockClient implements BeanFactoryPostProcessor {
        @Override
        public void postProcessBeanFactory(ConfigurableListableBeanFactory beans) {
            beans.getBeanDefinition("lockClient").setPrimary(true);
        }
    }

    @Test
    void bean_isLocked_ifNothingElseNeedsProxies() {
        application
                .with(Jobs.class)
                .withPropertyValues("spring.aop.auto=false")
                .run(context -> assertThat(context.getBean(Jobs.class).call(() -> application.store.entries("job")))
                        .isEqualTo(1));
    }

    static class Jobs {
        private int ran;

        public int ran() {
            return ran;
        }

        @Locked("job")
        public long call(Supplier<Long> body) {
            return body.get();
        }

        @Locked("#{#name}")
        public long named(String name, Supplier<Long> body) {
            return body.get();
        }

        @Locked(name = "job", waitFor = "10ms")
        public int throwing() {
            return ++ran;
        }

        @LockedJob("job")
        public void skip() {
            ran++;
        }

        @Locked(name = "job", waitFor = "0s", onBusy = OnBusy.SKIP)
        public Optional<String> skipOptional() {
            ran++;
            return Optional.of("ran");
        }

        @LockedJob("job")
        public OptionalInt skipInt() {
            ran++;
            return OptionalInt.of(1);
        }

        @LockedJob("job")
        public @Nullable String skipNullable() {
            ran++;
            return "ran";
        }

        @LockedJob("job")
        @NullUnmarked
        public Integer skipBoxed() {
            return ++ran;
        }

        @LockedJob("job")
        public CompletableFuture<String> skipStage() {
            ran++;
            return CompletableFuture.completedFuture("ran");
        }

        @LockedJob("job")
        public CompletableFuture<Optional<String>> skipOptionalStage() {
            ran++;
            return CompletableFuture.completedFuture(Optional.of("ran"));
        }

        @Locked("job")
        public void interruptible() throws InterruptedException {
            ran++;
        }
    }

    static class Batches {
        @Locked(name = "batch", options = "batch")
        public Duration batch() {
            return CurrentLease.require().remaining();
        }

        @Locked(name = "batch", lease = "${batch.lease:1s}", options = "batch")
        public Duration placeholder() {
            return CurrentLease.require().remaining();
        }

        @Locked(name = "batch", client = "second")
        public long secondClient() {
            return CurrentLease.require().token();
        }
    }
}
