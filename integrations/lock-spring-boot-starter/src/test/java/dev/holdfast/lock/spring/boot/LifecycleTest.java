package dev.holdfast.lock.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.Election;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClosedException;
import dev.holdfast.lock.memory.MemoryStore;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.web.server.context.WebServerApplicationContext;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.scheduling.concurrent.ThreadPoolTaskExecutor;

/** When the client is closed, and when it is not. */
class LifecycleTest {
    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(HoldfastAutoConfiguration.class))
            .withPropertyValues("holdfast.uri=memory:lifecycle");

    @Test
    void phase_isAfterTheWebServerAndExecutors_beforeConnections() {
        assertThat(LockClientLifecycle.PHASE)
                .isLessThan(WebServerApplicationContext.GRACEFUL_SHUTDOWN_PHASE)
                .isLessThan(WebServerApplicationContext.START_STOP_LIFECYCLE_PHASE)
                .isLessThan(new ThreadPoolTaskExecutor().getPhase())
                .isGreaterThan(new LettuceConnectionFactory().getPhase());
    }

    @Test
    void close_releasesBetweenTheServerAndTheConnections() {
        List<String> seen = new ArrayList<>();
        runner.withBean("server", SmartLifecycle.class, () -> new Probe(seen, "server", Integer.MAX_VALUE - 2048))
                .withBean("connections", SmartLifecycle.class, () -> new Probe(seen, "connections", 0))
                .run(context -> context.getBean(LockClient.class).lock("a").acquire());

        assertThat(seen).containsExactly("server: 1 held", "connections: 0 held");
    }

    @Test
    void leader_resignsWhileItsClientIsOpen() {
        runner.withUserConfiguration(Leader.class)
                .run(context ->
                        assertThat(Leader.elected.await(20, TimeUnit.SECONDS)).isTrue());

        assertThat(Leader.freeAtTheEnd).as("the client could be asked, once").containsExactly(true);
    }

    @Configuration
    static class Leader {
        static final CountDownLatch elected = new CountDownLatch(1);
        static final List<Boolean> freeAtTheEnd = new CopyOnWriteArrayList<>();

        @Bean
        Election election(LockClient client) {
            return client.election("leader")
                    .onElected(leadership -> elected.countDown())
                    .onRevoked(
                            leadership -> freeAtTheEnd.add(client.lock("other").tryLock()))
                    .start();
        }
    }

    @Test
    void close_closesClientsOfTheApplicationToo() {
        LockClient own = MemoryStore.create().newClient(dev.holdfast.lock.LockClientOptions.defaults());
        runner.withBean("mine", LockClient.class, () -> own, bean -> bean.setDestroyMethodName(""))
                .run(context -> assertThat(context).hasSingleBean(LockClient.class));

        assertThatThrownBy(() -> own.lock("a").tryLock()).isInstanceOf(LockClosedException.class);
    }

    @Test
    void stopAndStart_keepTheClientOpen() {
        runner.run(context -> {
            context.getSourceApplicationContext(org.springframework.context.ConfigurableApplicationContext.class)
                    .stop();
            context.getSourceApplicationContext(org.springframework.context.ConfigurableApplicationContext.class)
                    .start();
            assertThat(context.getBean(LockClient.class).lock("b").tryLock()).isTrue();
        });
    }

    @Test
    void lazyClient_isNotMadeToBeClosed() {
        runner.withUserConfiguration(LazyClient.class)
                .run(context -> assertThat(context).hasNotFailed());

        assertThat(LazyClient.made).isZero();
    }

    @Configuration
    static class LazyClient {
        static int made;

        @Bean
        @org.springframework.context.annotation.Lazy
        LockClient lazyClient() {
            made++;
            return LockClient.connect("memory:");
        }
    }

    private static final class Probe implements SmartLifecycle {
        private final List<String> seen;
        private final String name;
        private final int phase;
        private boolean running;

        Probe(List<String> seen, String name, int phase) {
            this.seen = seen;
            this.name = name;
            this.phase = phase;
        }

        @Override
        public void start() {
            running = true;
        }

        @Override
        public void stop() {
            running = false;
            seen.add(name + ": " + MemoryStore.named("lifecycle").entries("a") + " held");
        }

        @Override
        public boolean isRunning() {
            return running;
        }

        @Override
        public int getPhase() {
            return phase;
        }
    }
}
