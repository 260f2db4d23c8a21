package dev.holdfast.lock.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.testkit.support.TestSize;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** What locking costs, counted by the server. Timings are not asserted. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class RedisCountingTest {
    private static final LockClientOptions NO_HAND_OFF =
            LockClientOptions.builder().handOffLimit(0).build();

    /** On a busy machine, waking a thread takes longer than the usual time of a hand-off. */
    private static final LockClientOptions LONG_HAND_OFF =
            LockClientOptions.builder().handOffTime(Duration.ofSeconds(1)).build();

    private RedisFixture fixture;

    @BeforeAll
    void start() throws Exception {
        fixture = RedisFixture.fast();
    }

    @AfterAll
    void stop() {
        fixture.close();
    }

    @Test
    void uncontendedPair_andDeepReEntry_areTwoCommands() throws Exception {
        try (LockClient client = fixture.newClient(LockClientOptions.defaults())) {
            DistributedLock lock = client.lock("pair");
            lock.lock();
            lock.unlock();
            long before = fixture.commands();
            for (int i = 0; i < 50; i++) {
                lock.lock();
                lock.unlock();
            }
            assertThat(fixture.commands() - before).isEqualTo(100);

            before = fixture.commands();
            for (int i = 0; i < 100; i++) {
                lock.lock();
            }
            for (int i = 0; i < 100; i++) {
                lock.unlock();
            }
            assertThat(fixture.commands() - before).isEqualTo(2);
        }
    }

    @Test
    void threads32_oneName_twoCommandsAnAcquisition_farFewerWithTheHandOff() throws Exception {
        double plain = commandsAnAcquisition(NO_HAND_OFF, 32, 30);
        assertThat(plain).isLessThanOrEqualTo(2.0);
        double handedOff = commandsAnAcquisition(LONG_HAND_OFF, 32, 100);
        assertThat(handedOff).isLessThan(0.5);
    }

    private double commandsAnAcquisition(LockClientOptions options, int threads, int rounds) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        try (LockClient client = fixture.newClient(options)) {
            DistributedLock lock = client.lock("contended");
            lock.lock();
            lock.unlock();
            long[] guarded = {0};
            List<Callable<Void>> work = new ArrayList<>();
            for (int t = 0; t < threads; t++) {
                work.add(() -> {
                    for (int i = 0; i < rounds; i++) {
                        lock.lock();
                        try {
                            guarded[0]++;
                        } finally {
                            lock.unlock();
                        }
                    }
                    return null;
                });
            }
            long before = fixture.commands();
            for (Future<Void> done : pool.invokeAll(work, 8, TimeUnit.MINUTES)) {
                done.get();
            }
            assertThat(guarded[0]).isEqualTo((long) threads * rounds);
            return (fixture.commands() - before) / (double) guarded[0];
        } finally {
            pool.shutdownNow();
        }
    }

    @Test
    void manyNames_waitedForAtOnce_oneSubscription() throws Exception {
        int names = TestSize.of(1_000, 10_000);
        int released = 50;
        LockClientOptions options = LockClientOptions.builder()
                .lockOptions(LockOptions.builder().lease(Duration.ofMinutes(10)).build())
                .requestTimeout(Duration.ofSeconds(30))
                .build();
        try (LockClient holder = fixture.newClient(options);
                LockClient waiter = fixture.newClient(options)) {
            List<CompletableFuture<Lease>> held = new ArrayList<>();
            for (int i = 0; i < names; i++) {
                held.add(acquire(holder, i));
            }
            CompletableFuture.allOf(held.toArray(CompletableFuture[]::new)).get(4, TimeUnit.MINUTES);
            List<CompletableFuture<Lease>> waiting = new ArrayList<>();
            for (int i = 0; i < names; i++) {
                waiting.add(acquire(waiter, i));
            }
            await().atMost(Duration.ofMinutes(4)).until(() -> fixture.entries("many/" + (names - 1)) == 3);
            await().atMost(Duration.ofMinutes(4))
                    .until(() -> !fixture.list("PUBSUB", "CHANNELS").isEmpty());
            assertThat(fixture.list("PUBSUB", "CHANNELS")).hasSize(1);
            assertThat(waiting).noneMatch(CompletableFuture::isDone);
            for (int i = 0; i < released; i++) {
                held.get(names - 1 - i).join().close();
            }
            for (int i = 0; i < released; i++) {
                waiting.get(names - 1 - i).get(4, TimeUnit.MINUTES);
            }
            assertThat(fixture.list("PUBSUB", "CHANNELS")).hasSize(1);
        } finally {
            fixture.server().command("FLUSHALL");
        }
    }

    private static CompletableFuture<Lease> acquire(LockClient client, int name) {
        return client.lock("many/" + name).acquireAsync(Duration.ofMinutes(9)).toCompletableFuture();
    }

    @Test
    void waiter_looksAgainAboutOnceASecond() throws Exception {
        LockOptions lease = LockOptions.builder().lease(Duration.ofMinutes(5)).build();
        try (LockClient holder = fixture.newClient(LockClientOptions.defaults());
                LockClient waiter = fixture.newClient(LockClientOptions.defaults())) {
            DistributedLock held = holder.lock("watched", lease);
            held.lock();
            CompletableFuture<Lease> waiting = waiter.lock("watched", lease)
                    .acquireAsync(Duration.ofMinutes(4))
                    .toCompletableFuture();
            await().atMost(Duration.ofMinutes(1))
                    .until(() -> fixture.list("PUBSUB", "CHANNELS").size() == 1 && fixture.entries("watched") == 3);
            long start = System.nanoTime();
            long before = fixture.commands();
            // The first may be the look after the subscription; the others are polls, with up to a quarter of jitter.
            await().atMost(Duration.ofMinutes(2)).until(() -> fixture.commands() - before >= 5);
            assertThat(Duration.ofNanos(System.nanoTime() - start))
                    .as("time of four polls")
                    .isGreaterThan(Duration.ofMillis(3 * 750));
            held.unlock();
            waiting.get(4, TimeUnit.MINUTES).close();
        }
    }

    @Test
    void afterManyCycles_oneHeldLock_isRenewedOnceAnInterval_andIdleIsSilent() throws Exception {
        Duration interval = Duration.ofSeconds(1);
        LockOptions lease =
                LockOptions.builder().lease(interval.multipliedBy(3)).build();
        try (LockClient client = fixture.newClient(LockClientOptions.defaults())) {
            int threads = 8;
            int cycles = TestSize.of(10_000, 100_000);
            ExecutorService pool = Executors.newFixedThreadPool(threads);
            try {
                List<Callable<Void>> work = new ArrayList<>();
                for (int t = 0; t < threads; t++) {
                    DistributedLock lock = client.lock("cycle/" + t); // whose lease outlives a pause
                    work.add(() -> {
                        for (int i = 0; i < cycles / threads; i++) {
                            lock.lock();
                            lock.unlock();
                        }
                        return null;
                    });
                }
                for (Future<Void> done : pool.invokeAll(work, 8, TimeUnit.MINUTES)) {
                    done.get();
                }
            } finally {
                pool.shutdownNow();
            }
            long before = fixture.commands();
            DistributedLock held = client.lock("held", lease);
            long start = System.nanoTime();
            held.lock();
            // One command for the acquisition, two for a first renewal with a script that the server does not know
            // yet, and four renewals more: they take five intervals at least.
            await().atMost(Duration.ofMinutes(2)).until(() -> fixture.commands() - before >= 7);
            assertThat(Duration.ofNanos(System.nanoTime() - start))
                    .as("time of five renewals")
                    .isGreaterThan(interval.multipliedBy(5));
            held.unlock();
            long idle = fixture.commands();
            await("nothing is sent while nothing is held, for three intervals")
                    .during(interval.multipliedBy(3))
                    .atMost(interval.multipliedBy(30))
                    .until(() -> fixture.commands() == idle);
        }
    }
}
