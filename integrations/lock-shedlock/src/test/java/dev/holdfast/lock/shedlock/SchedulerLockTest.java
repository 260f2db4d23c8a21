package dev.holdfast.lock.shedlock;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.memory.MemoryStore;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import net.javacrumbs.shedlock.core.LockAssert;
import net.javacrumbs.shedlock.core.LockExtender;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.spring.annotation.EnableSchedulerLock;
import net.javacrumbs.shedlock.spring.annotation.SchedulerLock;
import org.junit.jupiter.api.Test;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** ShedLock's annotation with Spring, as an application has it: only the provider's bean is another one. */
class SchedulerLockTest {
    private final MemoryStore store = MemoryStore.create();

    @Test
    void job_runsOnOneInstance_isSkippedOnTheOther_andRunsThereAfterwards() throws Exception {
        try (AnnotationConfigApplicationContext one = start();
                AnnotationConfigApplicationContext other = start()) {
            Jobs here = one.getBean(Jobs.class);
            Jobs there = other.getBean(Jobs.class);
            CompletableFuture<Void> running = CompletableFuture.runAsync(here::nightly);
            assertThat(here.begun().await(20, TimeUnit.SECONDS)).isTrue();

            there.end().countDown();
            there.nightly();
            assertThat(there.runs()).as("another instance runs it").hasValue(0);

            here.end().countDown();
            running.get(20, TimeUnit.SECONDS);
            there.nightly();
            assertThat(there.runs()).hasValue(1);
            assertThat(here.runs()).hasValue(1);
            assertThat(store.entries("nightly")).isZero();
        }
    }

    @Test
    void extenderWithinAJob_isRefused_andTheLockStaysAsItWas() {
        try (AnnotationConfigApplicationContext one = start()) {
            assertThat(one.getBean(Jobs.class).extending()).isInstanceOf(UnsupportedOperationException.class);
            assertThat(store.entries("extending")).as("after the job").isZero();
        }
    }

    private AnnotationConfigApplicationContext start() {
        AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext();
        context.registerBean(LockClient.class, () -> store.newClient(LockClientOptions.defaults()));
        context.register(Application.class);
        context.refresh();
        return context;
    }

    @Configuration
    @EnableSchedulerLock(defaultLockAtMostFor = "1h")
    static class Application {
        @Bean
        LockProvider lockProvider(LockClient client) {
            return new HoldfastLockProvider(client);
        }

        @Bean
        Jobs jobs() {
            return new Jobs();
        }
    }

    static class Jobs {
        private final CountDownLatch begun = new CountDownLatch(1);
        private final CountDownLatch end = new CountDownLatch(1);
        private final AtomicInteger runs = new AtomicInteger();

        public CountDownLatch begun() {
            return begun;
        }

        public CountDownLatch end() {
            return end;
        }

        public AtomicInteger runs() {
            return runs;
        }

        @SchedulerLock(name = "nightly")
        public void nightly() {
            LockAssert.assertLocked();
            begun.countDown();
            try {
                assertThat(end.await(20, TimeUnit.SECONDS)).isTrue();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            runs.incrementAndGet();
        }

        @SchedulerLock(name = "extending")
        public Throwable extending() {
            try {
                LockExtender.extendActiveLock(Duration.ofHours(2), Duration.ZERO);
                return new AssertionError("extended");
            } catch (UnsupportedOperationException e) {
                LockAssert.assertLocked();
                return e;
            }
        }
    }
}
