package dev.holdfast.lock.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.holdfast.lock.Election;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClosedException;
import dev.holdfast.lock.memory.MemoryStore;
import dev.holdfast.lock.spring.Locked;
import dev.holdfast.lock.spring.LockedJob;
import dev.holdfast.lock.spring.OnBusy;
import dev.holdfast.lock.testkit.house.House;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.boot.web.server.context.WebServerApplicationContext;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.scheduling.concurrent.ThreadPoolTaskExecutor;
import reactor.core.publisher.Mono;

/** When the client is closed, and when it is not. */
@ExtendWith(OutputCaptureExtension.class)
@House("containers:contexts")
class LifecycleTest {
    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(HoldfastAutoConfiguration.class, LockedAutoConfiguration.class))
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
        runner.withBean(
                        "server",
                        SmartLifecycle.class,
                        () -> new Probe(Integer.MAX_VALUE - 2048, () -> note(seen, "server")))
                .withBean("connections", SmartLifecycle.class, () -> new Probe(0, () -> note(seen, "connections")))
                .run(context -> context.getBean(LockClient.class).lock("a").acquire());

        assertThat(seen).containsExactly("server: 1 held", "connections: 0 held");
    }

    private static void note(List<String> seen, String name) {
        seen.add(name + ": " + MemoryStore.named("lifecycle").entries("a") + " held");
    }

    /** It may have led for a moment before the context had started, between its start and the end of its bean's method. */
    @Test
    void leader_resignsWhileItsClientIsOpen() {
        runner.withUserConfiguration(Leader.class).run(context -> {
            assertThat(context.getBean(Election.class).awaitLeadership(Duration.ofSeconds(20)))
                    .isTrue();
            Leader.freeAtTheEnd.clear();
        });

        assertThat(Leader.freeAtTheEnd).as("the client could be asked, once").containsExactly(true);
    }

    @Configuration
    static class Leader {
        static final List<Boolean> freeAtTheEnd = new CopyOnWriteArrayList<>();

        @Bean
        Election election(LockClient client) {
            return client.election("leader")
                    .onElected(leadership -> {})
                    .onRevoked(leadership -> {
                        Optional<Lease> other = client.lock("other").tryAcquire();
                        other.ifPresent(Lease::close);
                        freeAtTheEnd.add(other.isPresent());
                    })
                    .start();
        }
    }

    /** Otherwise the next leader would begin beside a callback that ignores its interrupt. */
    @Test
    void leaderWhoseCallbackStillRunsAtTheEnd_keepsItsLock() {
        try {
            runner.withUserConfiguration(LastingLeader.class)
                    .run(context -> assertThat(LastingLeader.leads.await(20, TimeUnit.SECONDS))
                            .isTrue());
            try (LockClient other = LockClient.connect("memory:lifecycle")) {
                assertThat(other.lock("lasting").tryAcquire()).isEmpty();
            }
        } finally {
            LastingLeader.ends.countDown();
            MemoryStore.named("lifecycle").expire("lasting");
        }
    }

    @Configuration
    static class LastingLeader {
        static final CountDownLatch leads = new CountDownLatch(1);
        static final CountDownLatch ends = new CountDownLatch(1);

        @Bean
        Election election(LockClient client) {
            return client.election("lasting")
                    .stopTime(Duration.ofMillis(100))
                    .onElected(leadership -> {
                        leads.countDown();
                        while (ends.getCount() > 0) {
                            try {
                                ends.await();
                            } catch (InterruptedException ignored) {
                                // this leader is not as it should be
                            }
                        }
                    })
                    .start();
        }
    }

    /** As the scheduler does with what is due between the end of the locks and its own. */
    @Test
    void jobAfterTheEnd_isSkipped_otherCallsFail() {
        AtomicReference<Jobs> jobs = new AtomicReference<>();
        List<String> runs = new ArrayList<>();
        List<@Nullable Object> late = new ArrayList<>();
        runner.withBean(Jobs.class, () -> new Jobs(runs))
                .withBean(
                        "pool",
                        SmartLifecycle.class,
                        () -> new Probe(0, () -> {
                            jobs.get().job();
                            late.add(jobs.get().stage().join());
                            late.add(jobs.get().mono().block());
                            late.add(catchThrowable(jobs.get()::other));
                        }))
                .run(context -> {
                    jobs.set(context.getBean(Jobs.class));
                    jobs.get().job();
                    jobs.get().stage().join();
                    jobs.get().mono().block();
                    jobs.get().other();
                });

        assertThat(runs).containsExactly("job", "stage", "mono", "other");
        assertThat(late).hasSize(3).startsWith(null, null);
        assertThat(late.get(2)).isInstanceOf(LockClosedException.class);
    }

    /** As virtual threads do, for which Spring does not wait. */
    @Test
    void callThatStillRunsAtTheEnd_keepsItsLock(CapturedOutput output) throws Exception {
        CountDownLatch running = new CountDownLatch(1);
        CountDownLatch ends = new CountDownLatch(1);
        AtomicReference<Thread> thread = new AtomicReference<>();
        runner.withBean(Slow.class, () -> new Slow(running, ends)).run(context -> {
            context.getBean(LockClient.class).lock("slow/idle").acquire();
            Slow slow = context.getBean(Slow.class);
            thread.set(new Thread(slow::work));
            thread.get().start();
            running.await();
        });
        try (LockClient other = LockClient.connect("memory:lifecycle")) {
            assertThat(other.lock("slow/work").tryAcquire()).isEmpty();
            assertThat(other.lock("slow/idle").tryAcquire()).isPresent();
        }
        assertThat(output)
                .containsPattern("lock 'slow/work' \\(token \\d+\\): Slow.work still runs while the application ends");
        ends.countDown();
        thread.get().join();
        MemoryStore.named("lifecycle").expire("slow/work");
    }

    /** With a name that others can call. */
    public static class Slow {
        private final CountDownLatch running;
        private final CountDownLatch ends;

        Slow(CountDownLatch running, CountDownLatch ends) {
            this.running = running;
            this.ends = ends;
        }

        @Locked("slow/work")
        public void work() {
            running.countDown();
            try {
                ends.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** The application itself closed the client: no other instance is expected to run the job. */
    @Test
    void jobOfAClosedClient_whileTheApplicationGoesOn_fails() {
        runner.withBean(Jobs.class, () -> new Jobs(new ArrayList<>())).run(context -> {
            Jobs jobs = context.getBean(Jobs.class);
            context.getBean(LockClient.class).close();

            assertThatThrownBy(jobs::job).isInstanceOf(LockClosedException.class);
            assertThatThrownBy(jobs::stage).isInstanceOf(LockClosedException.class);
            assertThatThrownBy(() -> jobs.mono().block()).isInstanceOf(LockClosedException.class);
        });
    }

    /** With names that others can call, or the proxy would pass them by. */
    public static class Jobs {
        private final List<String> runs;

        Jobs(List<String> runs) {
            this.runs = runs;
        }

        @LockedJob("jobs/job")
        public void job() {
            runs.add("job");
        }

        @Locked(name = "jobs/stage", onBusy = OnBusy.SKIP)
        public CompletableFuture<String> stage() {
            runs.add("stage");
            return CompletableFuture.completedFuture("done");
        }

        @Locked(name = "jobs/mono", onBusy = OnBusy.SKIP)
        public Mono<String> mono() {
            return Mono.fromSupplier(() -> {
                runs.add("mono");
                return "done";
            });
        }

        @Locked("jobs/other")
        public void other() {
            runs.add("other");
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

    /** Does something when its phase stops. */
    private static final class Probe implements SmartLifecycle {
        private final int phase;
        private final Runnable atStop;
        private boolean running;

        Probe(int phase, Runnable atStop) {
            this.phase = phase;
            this.atStop = atStop;
        }

        @Override
        public void start() {
            running = true;
        }

        @Override
        public void stop() {
            running = false;
            atStop.run();
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
