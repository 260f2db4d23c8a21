package dev.holdfast.lock.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.ClientOptions;
import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockOptions;
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
    private static final ClientOptions NO_HAND_OFF =
            ClientOptions.builder().handOffLimit(0).build();

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
        try (LockClient client = fixture.newClient(ClientOptions.defaults())) {
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
        double plain = commandsAnAcquisition(List.of(NO_HAND_OFF), 32, 30, Duration.ZERO);
        assertThat(plain).isLessThanOrEqualTo(2.0);
        double handedOff = commandsAnAcquisition(List.of(ClientOptions.defaults()), 32, 100, Duration.ZERO);
        assertThat(handedOff).isLessThan(0.5);
    }

    @Test
    void clients8_oneName_atMostFourCommandsAnAcquisition() throws Exception {
        double plain = commandsAnAcquisition(java.util.Collections.nCopies(8, NO_HAND_OFF), 1, 100, Duration.ZERO);
        double holding =
                commandsAnAcquisition(java.util.Collections.nCopies(8, NO_HAND_OFF), 1, 40, Duration.ofMillis(5));
        assertThat(plain).isLessThanOrEqualTo(4.0);
        assertThat(holding).isLessThanOrEqualTo(4.0);
    }

    private double commandsAnAcquisition(List<ClientOptions> options, int threads, int rounds, Duration hold)
            throws Exception {
        List<LockClient> clients = new ArrayList<>();
        ExecutorService pool = Executors.newFixedThreadPool(threads * options.size());
        try {
            for (ClientOptions each : options) {
                LockClient client = fixture.newClient(each);
                clients.add(client);
                client.lock("warm-up").lock();
                client.lock("warm-up").unlock();
            }
            long[] guarded = {0};
            List<Callable<Void>> work = new ArrayList<>();
            for (LockClient client : clients) {
                for (int t = 0; t < threads; t++) {
                    work.add(() -> {
                        DistributedLock lock = client.lock("contended");
                        for (int i = 0; i < rounds; i++) {
                            lock.lock();
                            try {
                                guarded[0]++;
                                if (!hold.isZero()) {
                                    TimeUnit.MILLISECONDS.sleep(hold.toMillis());
                                }
                            } finally {
                                lock.unlock();
                            }
                        }
                        return null;
                    });
                }
            }
            long before = fixture.commands();
            for (Future<Void> done : pool.invokeAll(work, 120, TimeUnit.SECONDS)) {
                done.get();
            }
            assertThat(guarded[0]).isEqualTo((long) work.size() * rounds);
            // What a client sends once, to subscribe and to look again after that, is not an acquisition's cost.
            long once = options.size() > 1 ? 3L * options.size() : 0;
            return (fixture.commands() - before - once) / (double) guarded[0];
        } finally {
            pool.shutdownNow();
            clients.forEach(LockClient::close);
        }
    }

    @Test
    void names10000_waitedForAtOnce_oneSubscription() throws Exception {
        int names = 10_000;
        int released = 50;
        ClientOptions options = ClientOptions.builder()
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
    void after100000Cycles_oneHeldLock_isRenewedOnceAnInterval_andIdleIsSilent() throws Exception {
        LockOptions lease = LockOptions.builder().lease(Duration.ofSeconds(3)).build();
        try (LockClient client = fixture.newClient(ClientOptions.defaults())) {
            int threads = 8;
            ExecutorService pool = Executors.newFixedThreadPool(threads);
            try {
                List<Callable<Void>> work = new ArrayList<>();
                for (int t = 0; t < threads; t++) {
                    DistributedLock lock = client.lock("cycle/" + t, lease);
                    work.add(() -> {
                        for (int i = 0; i < 100_000 / threads; i++) {
                            lock.lock();
                            lock.unlock();
                        }
                        return null;
                    });
                }
                for (Future<Void> done : pool.invokeAll(work, 200, TimeUnit.SECONDS)) {
                    done.get();
                }
            } finally {
                pool.shutdownNow();
            }
            long before = fixture.commands();
            DistributedLock held = client.lock("held", lease);
            held.lock();
            TimeUnit.SECONDS.sleep(6);
            held.unlock();
            // Two for the pair, and one each second.
            assertThat(fixture.commands() - before).isBetween(5L, 9L);
            before = fixture.commands();
            TimeUnit.SECONDS.sleep(3);
            assertThat(fixture.commands() - before).isZero();
        }
    }
}
