package dev.holdfast.lock.spring.aop;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.spring.CurrentLease;
import dev.holdfast.lock.spring.Locked;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.cache.CacheManager;
import org.springframework.cache.annotation.Cacheable;
import org.springframework.cache.annotation.EnableCaching;
import org.springframework.cache.concurrent.ConcurrentMapCacheManager;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.resilience.annotation.EnableResilientMethods;
import org.springframework.retry.annotation.EnableRetry;
import org.springframework.scheduling.annotation.Async;
import org.springframework.scheduling.annotation.EnableAsync;
import reactor.core.publisher.Mono;

/** The lock's place among the other advices of a method. */
class LockedOrderTest {
    private final LockedApplication application = new LockedApplication();
    private final ApplicationContextRunner runner =
            application.with(Config.class, SpringRetries.class, Resilient.class, Background.class);

    @Test
    void resilientRetry_acquiresAnew_forEachTry() {
        runner.run(context -> {
            Resilient bean = context.getBean(Resilient.class);
            assertThat(bean.third()).isEqualTo(3);
            assertThat(bean.tokens()).hasSize(3).doesNotHaveDuplicates();
            assertThat(application.store.commands()).isEqualTo(6);
        });
    }

    @Test
    void resilientRetry_ofAMono_acquiresAnew_forEachTry() {
        runner.run(context -> {
            Resilient bean = context.getBean(Resilient.class);
            assertThat(bean.thirdMono().block(Duration.ofSeconds(20))).isEqualTo(3);
            assertThat(bean.tokens()).hasSize(3).doesNotHaveDuplicates();
            assertThat(application.store.commands()).isEqualTo(6);
        });
    }

    @Test
    void springRetry_acquiresAnew_forEachTry() {
        runner.run(context -> {
            SpringRetries bean = context.getBean(SpringRetries.class);
            assertThat(bean.third()).isEqualTo(3);
            assertThat(bean.tokens()).hasSize(3).doesNotHaveDuplicates();
            assertThat(application.store.commands()).isEqualTo(6);
        });
    }

    @Test
    void order_isThatOfTheProperty() {
        runner.withPropertyValues("holdfast.annotation.order=100").run(context -> {
            SpringRetries bean = context.getBean(SpringRetries.class);
            assertThat(bean.third()).isEqualTo(3);
            assertThat(bean.tokens().stream().distinct()).hasSize(1); // now the lock is outside of Spring Retry
            assertThat(application.store.commands()).isEqualTo(2);
        });
    }

    @Test
    void cache_isAskedWithinTheLock_unlessItsOrderIsLower() {
        application.with(Caching.class, Prices.class).run(context -> {
            Prices prices = context.getBean(Prices.class);
            assertThat(prices.price(1) + prices.price(1)).isEqualTo(2);
            assertThat(application.store.commands()).as("two calls, two grants").isEqualTo(4);
        });
        LockedApplication other = new LockedApplication();
        other.with(CachingFirst.class, Prices.class).run(context -> {
            Prices prices = context.getBean(Prices.class);
            assertThat(prices.price(1) + prices.price(1)).isEqualTo(2);
            assertThat(other.store.commands()).as("one grant, one hit").isEqualTo(2);
        });
    }

    static class Caches {
        @Bean
        CacheManager cacheManager() {
            return new ConcurrentMapCacheManager("prices");
        }
    }

    @Configuration
    @EnableCaching
    static class Caching extends Caches {}

    @Configuration
    @EnableCaching(order = 0)
    static class CachingFirst extends Caches {}

    static class Prices {
        private final AtomicInteger runs = new AtomicInteger();

        @Cacheable("prices")
        @Locked("price/#{#id}")
        public int price(long id) {
            return runs.incrementAndGet();
        }
    }

    @Test
    void async_acquiresOnTheAsynchronousThread() {
        runner.run(context -> {
            Background bean = context.getBean(Background.class);
            CompletableFuture<Void> go = new CompletableFuture<>();
            CompletableFuture<String> result = bean.future(go);
            go.complete(null);
            assertThat(result.get(20, TimeUnit.SECONDS))
                    .contains("/job")
                    .doesNotStartWith(Thread.currentThread().getName() + "/");
            assertThat(application.isFree("job")).isTrue();

            CompletableFuture<String> called = new CompletableFuture<>();
            bean.fireAndForget(called);
            assertThat(called.get(20, TimeUnit.SECONDS)).isEqualTo("job");
            await().atMost(Duration.ofSeconds(20)).until(() -> application.store.entries("job") == 0);
        });
    }

    @Test
    void selfInvocation_isNotSeen() { // said in the page: there is no proxy on that way
        runner.run(context -> {
            assertThat(context.getBean(Background.class).callsItself()).isFalse();
            assertThatThrownBy(CurrentLease::require).hasMessageContaining("through its bean");
        });
    }

    @Configuration(proxyBeanMethods = false)
    @EnableResilientMethods
    @EnableRetry
    @EnableAsync
    static class Config {}

    /** A try that fails twice. */
    abstract static class Tries {
        private final List<Long> tokens = new CopyOnWriteArrayList<>();

        public List<Long> tokens() {
            return tokens;
        }

        int attempt() {
            tokens.add(CurrentLease.require().token());
            if (tokens.size() < 3) {
                throw new IllegalStateException("try again");
            }
            return tokens.size();
        }
    }

    static class Resilient extends Tries {
        @org.springframework.resilience.annotation.Retryable(maxRetries = 2, delay = 1)
        @Locked("job")
        public int third() {
            return attempt();
        }

        @org.springframework.resilience.annotation.Retryable(maxRetries = 2, delay = 1)
        @Locked("job")
        public Mono<Integer> thirdMono() {
            return Mono.just(attempt());
        }
    }

    static class SpringRetries extends Tries {
        @org.springframework.retry.annotation.Retryable(
                maxAttempts = 3,
                backoff = @org.springframework.retry.annotation.Backoff(delay = 1))
        @Locked("job")
        public int third() {
            return attempt();
        }
    }

    static class Background {
        @Async
        @Locked("job")
        public CompletableFuture<String> future(CompletableFuture<Void> go) {
            String thread = Thread.currentThread().getName();
            String name = CurrentLease.require().name();
            return go.thenApply(any -> thread + "/" + name);
        }

        @Async
        @Locked("job")
        public void fireAndForget(CompletableFuture<String> called) {
            called.complete(CurrentLease.require().name());
        }

        @Locked("job")
        public boolean locked() {
            return CurrentLease.find().isPresent();
        }

        public boolean callsItself() {
            return locked();
        }
    }
}
