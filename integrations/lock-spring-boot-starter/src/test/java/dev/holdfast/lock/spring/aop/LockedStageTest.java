package dev.holdfast.lock.spring.aop;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockTimeoutException;
import dev.holdfast.lock.spring.CurrentLease;
import dev.holdfast.lock.spring.Locked;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

/** Methods that return a future: the lock is held until that is complete. */
class LockedStageTest {
    private final LockedApplication application = new LockedApplication();
    private final ApplicationContextRunner runner = application.with(Jobs.class);

    @Test
    void lock_isHeld_untilTheFutureIsComplete() {
        runner.run(context -> {
            Jobs jobs = context.getBean(Jobs.class);
            CompletableFuture<String> work = new CompletableFuture<>();
            CompletableFuture<String> result = jobs.future(() -> work);
            assertThat(result).isNotDone();
            assertThat(application.isFree("job")).isFalse();
            assertThat(CurrentLease.find()).isEmpty();
            long before = application.store.commands();
            CompletableFuture<Boolean> freeWhenDone = result.thenApply(value -> application.isFree("job"));
            work.complete("done");
            assertThat(result.get(20, TimeUnit.SECONDS)).isEqualTo("done");
            assertThat(freeWhenDone.get(20, TimeUnit.SECONDS)).isTrue();
            assertThat(application.store.commands() - before).isEqualTo(3); // one release, two by the other process
        });
    }

    @Test
    void completeFuture_isReleasedAtOnce_byTwoRequests() {
        runner.run(context -> {
            Jobs jobs = context.getBean(Jobs.class);
            assertThat(jobs.stage(() -> CompletableFuture.completedStage("x"))
                            .toCompletableFuture()
                            .get(20, TimeUnit.SECONDS))
                    .isEqualTo("x");
            assertThat(jobs.future(() -> CompletableFuture.completedFuture("x")))
                    .isCompletedWithValue("x");
            assertThat(jobs.future(() -> null)).isNull();
            assertThat(application.store.commands()).isEqualTo(6);
            assertThat(application.isFree("job")).isTrue();
        });
    }

    @Test
    void failure_ofTheMethodOrTheFuture_releases() {
        runner.run(context -> {
            Jobs jobs = context.getBean(Jobs.class);
            IllegalStateException own = new IllegalStateException();
            assertThatThrownBy(() -> jobs.future(() -> {
                        throw own;
                    }))
                    .isSameAs(own);
            assertThat(application.isFree("job")).isTrue();
            CompletableFuture<String> work = new CompletableFuture<>();
            CompletableFuture<String> result = jobs.future(() -> work);
            work.completeExceptionally(own);
            assertThatThrownBy(() -> result.get(20, TimeUnit.SECONDS)).hasCause(own);
            assertThat(application.isFree("job")).isTrue();
        });
    }

    @Test
    void cancellingTheResult_doesNotReleaseWhatIsStillUsed() {
        runner.run(context -> {
            Jobs jobs = context.getBean(Jobs.class);
            CompletableFuture<String> work = new CompletableFuture<>();
            CompletableFuture<String> result = jobs.future(() -> work);
            assertThat(result.cancel(true)).isTrue();
            assertThat(application.isFree("job")).isFalse();
            work.complete("done");
            await().atMost(Duration.ofSeconds(20)).until(() -> application.isFree("job"));
        });
    }

    @Test
    void loss_failsTheResult_orIsSuppressedIntoItsFailure() {
        runner.run(context -> {
            Jobs jobs = context.getBean(Jobs.class);
            AtomicReference<Lease> lease = new AtomicReference<>();
            CompletableFuture<String> work = new CompletableFuture<>();
            CompletableFuture<String> result = jobs.future(() -> {
                lease.set(CurrentLease.require());
                return work;
            });
            application.lose(lease.get());
            work.complete("done");
            assertThatThrownBy(() -> result.get(20, TimeUnit.SECONDS))
                    .isInstanceOf(ExecutionException.class)
                    .hasCauseInstanceOf(LeaseLostException.class);

            CompletableFuture<String> failing = new CompletableFuture<>();
            CompletableFuture<String> failed = jobs.future(() -> {
                lease.set(CurrentLease.require());
                return failing.thenApply(value -> value); // a dependent one wraps its failure
            });
            application.lose(lease.get());
            IllegalStateException own = new IllegalStateException();
            failing.completeExceptionally(own);
            assertThatThrownBy(() -> failed.get(20, TimeUnit.SECONDS)).hasCause(own);
            assertThat(own.getSuppressed()).singleElement().isInstanceOf(LeaseLostException.class);
        });
    }

    @Test
    void nestedCalls_shareTheLease_untilTheLastIsComplete() {
        runner.run(context -> {
            Jobs jobs = context.getBean(Jobs.class);
            CompletableFuture<String> innerWork = new CompletableFuture<>();
            AtomicReference<CompletableFuture<String>> inner = new AtomicReference<>();
            CompletableFuture<String> outer = jobs.future(() -> {
                assertThat(jobs.plain(() -> CurrentLease.require().token()))
                        .isEqualTo(CurrentLease.require().token());
                inner.set(jobs.future(() -> innerWork));
                return CompletableFuture.completedFuture("outer");
            });
            assertThat(outer).isCompletedWithValue("outer");
            assertThat(application.isFree("job")).isFalse();
            innerWork.complete("inner");
            assertThat(inner.get().get(20, TimeUnit.SECONDS)).isEqualTo("inner");
            assertThat(application.isFree("job")).isTrue();
        });
    }

    @Test
    void nestedCall_afterALoss_doesNotRun() {
        runner.run(context -> {
            Jobs jobs = context.getBean(Jobs.class);
            AtomicInteger ran = new AtomicInteger();
            CompletableFuture<String> outer = jobs.future(() -> {
                application.lose(CurrentLease.require());
                assertThatThrownBy(() -> jobs.plain(() -> (long) ran.incrementAndGet()))
                        .isInstanceOf(LeaseLostException.class);
                assertThatThrownBy(() -> jobs.future(() -> {
                            ran.incrementAndGet();
                            return null;
                        }))
                        .isInstanceOf(LeaseLostException.class);
                return CompletableFuture.completedFuture("outer");
            });
            assertThat(outer).isCompletedExceptionally();
            assertThat(ran).hasValue(0);
            assertThat(application.isFree("job")).isTrue();
        });
    }

    @Test
    void loss_withinANestedCall_isThrownByThat() {
        runner.run(context -> {
            Jobs jobs = context.getBean(Jobs.class);
            CompletableFuture<String> outer = jobs.future(() -> {
                assertThatThrownBy(() -> jobs.plain(() -> {
                            application.lose(CurrentLease.require());
                            return 1L;
                        }))
                        .isInstanceOf(LeaseLostException.class);
                return CompletableFuture.completedFuture("outer");
            });
            assertThat(outer).isCompletedExceptionally();
            assertThat(application.isFree("job")).isTrue();
        });
    }

    @Test
    void future_withinAMethodThatReturnsEarlier_isRefusedAtOnce() {
        runner.run(context -> {
            Jobs jobs = context.getBean(Jobs.class);
            jobs.plain(() -> {
                assertThatThrownBy(() -> jobs.future(() -> new CompletableFuture<>()))
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("let the outer method return a CompletableFuture");
                return 0L;
            });
            assertThat(application.isFree("job")).isTrue();
        });
    }

    @Test
    void busy_throwsToTheCaller() {
        runner.run(context -> {
            Jobs jobs = context.getBean(Jobs.class);
            try (LockClient other = application.other();
                    Lease held = other.lock("job").acquire()) {
                assertThat(held.isValid()).isTrue();
                assertThatThrownBy(() -> jobs.impatient()).isInstanceOf(LockTimeoutException.class);
            }
        });
    }

    static class Jobs {
        @Locked("job")
        public @Nullable CompletableFuture<String> future(Supplier<@Nullable CompletableFuture<String>> work) {
            return work.get();
        }

        @Locked("job")
        public CompletionStage<String> stage(Supplier<CompletionStage<String>> work) {
            return work.get();
        }

        @Locked(name = "job", waitFor = "10ms")
        public CompletionStage<String> impatient() {
            return new CompletableFuture<>();
        }

        @Locked("job")
        public long plain(Supplier<Long> work) {
            return work.get();
        }
    }
}
