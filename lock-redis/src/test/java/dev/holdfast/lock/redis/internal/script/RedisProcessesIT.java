package dev.holdfast.lock.redis.internal.script;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.redis.RedisFixture;
import dev.holdfast.lock.testkit.support.ChildJvm;
import dev.holdfast.lock.testkit.support.TestSize;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What contention between real processes costs, counted by the server. */
final class RedisProcessesIT {
    private static final Duration PATIENCE = Duration.ofMinutes(5);
    private static final int PROCESSES = 8;

    private final List<ChildJvm> children = new ArrayList<>();
    private RedisFixture fixture;

    @BeforeEach
    void start() throws Exception {
        fixture = RedisFixture.fast();
    }

    @AfterEach
    void stop() {
        children.forEach(ChildJvm::close);
        fixture.close();
    }

    @Test
    void processes8_oneName_atMostFourCommandsAnAcquisition() throws Exception {
        try (LockClient client = fixture.newClient(LockClientOptions.defaults());
                Lease held = client.lock("contended").acquire()) {
            for (int i = 0; i < PROCESSES; i++) {
                children.add(ChildJvm.start(ContendingProcess.class, fixture.uri(), "contended"));
            }
            // All wait for the lock once, so that what a process does once is done: one subscription each.
            await().atMost(PATIENCE).until(() -> {
                children.forEach(ChildJvm::requireAlive);
                return fixture.entries("contended") == 1 + 2 * PROCESSES
                        && fixture.list("PUBSUB", "CHANNELS").size() == PROCESSES;
            });
            assertThat(held.isValid()).isTrue();
        }
        for (ChildJvm child : children) {
            child.await("ready");
        }
        double atOnce = commandsAnAcquisition(TestSize.of(80, 200), 0);
        double holding = commandsAnAcquisition(TestSize.of(20, 40), 5);
        System.out.printf(
                "commands an acquisition, %d processes: %.2f, with 5 ms of work %.2f%n", PROCESSES, atOnce, holding);
        assertThat(atOnce).as("without work").isLessThanOrEqualTo(4.0);
        assertThat(holding).as("with 5 ms of work").isLessThanOrEqualTo(4.0);
        assertThat(fixture.list("PUBSUB", "CHANNELS")).as("subscriptions").hasSize(PROCESSES);
        assertThat(fixture.entries("contended")).isZero();
    }

    @Test
    void fiveWaitingProcessesKilled_theNextLiveOneHasItSoonAfterTheRelease() throws Exception {
        try (LockClient holder = fixture.newClient(LockClientOptions.defaults());
                LockClient living = fixture.newClient(LockClientOptions.defaults())) {
            holder.lock("killed").acquire().close();
            living.lock("warm").acquire().close();
            Lease held = holder.lock("killed").acquire();
            for (int i = 0; i < 5; i++) {
                children.add(ChildJvm.start(ContendingProcess.class, fixture.uri(), "killed"));
            }
            awaitCallable("killed", 5);
            CompletableFuture<Lease> next =
                    living.lock("killed").acquireAsync(Duration.ofMinutes(4)).toCompletableFuture();
            awaitCallable("killed", 6);
            for (ChildJvm child : children) {
                child.kill();
            }
            await().atMost(PATIENCE)
                    .until(() -> fixture.list("PUBSUB", "CHANNELS").size() == 1);
            fixture.server().command("CONFIG", "RESETSTAT");
            long start = System.nanoTime();
            held.close();
            next.get(4, TimeUnit.MINUTES).close();
            Duration waited = Duration.ofNanos(System.nanoTime() - start);
            String stats = String.valueOf(fixture.server().command("INFO", "commandstats"));
            assertThat(stats)
                    .as("one look at each that was killed and at the living, and one message")
                    .contains("cmdstat_pubsub|numsub:calls=6,")
                    .contains("cmdstat_publish:calls=1,");
            assertThat(waited).as("less than a lease").isLessThan(Duration.ofSeconds(10));
        }
    }

    /** All wait with a subscription, and have said so at their last try. */
    private void awaitCallable(String name, int waiters) {
        RedisKeys keys = RedisKeys.of("holdfast", name);
        await().atMost(PATIENCE).until(() -> {
            children.forEach(ChildJvm::requireAlive);
            List<?> entries = fixture.list("HVALS", keys.waiters());
            return entries.size() == waiters
                    && entries.stream().allMatch(entry -> entry.toString().contains(" P "));
        });
    }

    private double commandsAnAcquisition(int rounds, int workMillis) throws Exception {
        long before = fixture.commands();
        for (ChildJvm child : children) {
            child.send(rounds + " " + workMillis);
        }
        for (ChildJvm child : children) {
            child.await("done");
        }
        return (fixture.commands() - before) / (double) (PROCESSES * rounds);
    }

    /** Acquires once; then as often as each line of its input says, with that many milliseconds of work. */
    static final class ContendingProcess {
        private ContendingProcess() {}

        public static void main(String[] args) throws Exception {
            try (LockClient client = LockClient.connect(args[0])) {
                DistributedLock lock = client.lock(args[1]);
                lock.lock();
                lock.unlock();
                System.out.println("ready");
                BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
                for (String order = orders.readLine(); order != null; order = orders.readLine()) {
                    String[] numbers = order.split(" ");
                    for (int i = Integer.parseInt(numbers[0]); i > 0; i--) {
                        lock.lock();
                        try {
                            TimeUnit.MILLISECONDS.sleep(Integer.parseInt(numbers[1])); // the work
                        } finally {
                            lock.unlock();
                        }
                    }
                    System.out.println("done");
                }
            }
        }
    }
}
