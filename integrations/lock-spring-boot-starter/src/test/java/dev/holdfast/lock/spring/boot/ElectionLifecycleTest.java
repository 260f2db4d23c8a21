package dev.holdfast.lock.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.Election;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.memory.MemoryStore;
import dev.holdfast.lock.spring.LeaderElectedEvent;
import dev.holdfast.lock.spring.LeaderEvents;
import dev.holdfast.lock.spring.LeaderRevokedEvent;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.event.EventListener;

/** Elections follow the context: they stand while it runs. */
class ElectionLifecycleTest {
    private static final List<String> EVENTS = new CopyOnWriteArrayList<>();

    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(HoldfastAutoConfiguration.class, LockedAutoConfiguration.class))
            .withUserConfiguration(App.class)
            .withPropertyValues("holdfast.uri=memory:elections");

    ElectionLifecycleTest() {
        EVENTS.clear();
    }

    @Configuration
    static class App {
        @Bean
        Election election(LeaderEvents events, LockClient client) {
            return events.election(client, "leader").start();
        }

        @EventListener
        void elected(LeaderElectedEvent event) {
            EVENTS.add("elected " + event.election() + " " + event.leadership().isValid());
        }

        @EventListener
        void revoked(LeaderRevokedEvent event) {
            EVENTS.add("revoked " + event.election());
        }
    }

    @Test
    void pausedContext_resigns_theNextLeads_andItStandsAgainAfterIts() {
        runner.run(context -> {
            Election election = context.getBean(Election.class);
            await().until(election::isLeader);
            ConfigurableApplicationContext own =
                    context.getSourceApplicationContext(ConfigurableApplicationContext.class);
            own.pause();
            assertThat(election.isLeader()).isFalse();
            await().untilAsserted(() -> assertThat(EVENTS).containsExactly("elected leader true", "revoked leader"));
            runner.run(next -> await().until(next.getBean(Election.class)::isLeader));
            own.restart();
            await().until(election::isLeader);
            own.stop();
            assertThat(MemoryStore.named("elections").entries("leader")).isZero();
        });
        assertThat(EVENTS)
                .containsExactly(
                        "elected leader true",
                        "revoked leader",
                        "elected leader true",
                        "revoked leader",
                        "elected leader true",
                        "revoked leader");
    }

    @Test
    void contextThatIsStillStarting_orFails_doesNotLead() {
        LockClient other = LockClient.connect("memory:elections");
        Lease elsewhere = other.lock("leader").tryAcquire().orElseThrow();
        List<Boolean> leads = new CopyOnWriteArrayList<>();
        runner.withBean("slow", SmartLifecycle.class, () -> new SmartLifecycle() {
                    @Override
                    public void start() {
                        elsewhere.close();
                        try (Lease free = other.lock("leader").tryAcquire().orElseThrow()) {
                            leads.add(!free.isValid());
                        }
                        throw new IllegalStateException("on purpose");
                    }

                    @Override
                    public void stop() {}

                    @Override
                    public boolean isRunning() {
                        return false;
                    }

                    @Override
                    public int getPhase() {
                        return Integer.MAX_VALUE - 1024; // where the web server starts
                    }
                })
                .run(context -> assertThat(context).hasFailed());
        other.close();
        assertThat(leads).containsExactly(false);
        assertThat(EVENTS).isEmpty();
    }
}
