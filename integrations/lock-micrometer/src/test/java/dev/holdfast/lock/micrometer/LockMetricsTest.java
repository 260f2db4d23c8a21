package dev.holdfast.lock.micrometer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockClosedException;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.Permit;
import dev.holdfast.lock.engine.LockEngine;
import dev.holdfast.lock.memory.MemoryLockBackend;
import dev.holdfast.lock.memory.MemoryStore;
import dev.holdfast.lock.testkit.fault.CountingBackend;
import dev.holdfast.lock.testkit.fault.Fault;
import dev.holdfast.lock.testkit.fault.FaultyBackend;
import dev.holdfast.lock.testkit.fault.Request;
import io.micrometer.core.instrument.MockClock;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.simple.SimpleConfig;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class LockMetricsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    private final MockClock clock = new MockClock();
    private final SimpleMeterRegistry registry = new SimpleMeterRegistry(SimpleConfig.DEFAULT, clock);
    private final MemoryStore store = MemoryStore.create();
    private final FaultyBackend faults = new FaultyBackend(new MemoryLockBackend(store));
    private final CountingBackend counts = new CountingBackend(faults);
    private final LockClient client = LockEngine.client(
            counts,
            LockClientOptions.builder()
                    .requestTimeout(Duration.ofMillis(500))
                    .handOffTime(Duration.ofMinutes(1))
                    .build());
    private final LockClient other = LockEngine.client(new MemoryLockBackend(store), LockClientOptions.defaults());

    @AfterEach
    void close() {
        faults.calm();
        client.close();
        other.close();
    }

    private void bind() {
        LockMetrics.of(client).bindTo(registry);
    }

    private double acquires(String outcome) {
        Timer timer = registry.find("holdfast.lock.acquire")
                .tags("store", "memory", "lock", "orders", "outcome", outcome)
                .timer();
        return timer == null ? 0 : timer.count();
    }

    private double count(String meter, String... tags) {
        var counter = registry.find(meter).tags(tags).counter();
        return counter == null ? 0 : counter.count();
    }

    private double gauge(String meter, String... tags) {
        clock.add(Duration.ofSeconds(1));
        var gauge = registry.find(meter).tags(tags).gauge();
        return gauge == null ? Double.NaN : gauge.value();
    }

    private static void untilOne(java.util.function.DoubleSupplier value) {
        await().atMost(PATIENCE).pollDelay(Duration.ZERO).until(() -> value.getAsDouble() == 1);
    }

    @Test
    void acquire_isTimedByItsOutcome() throws Exception {
        bind();
        DistributedLock lock = client.lock("orders/1");
        lock.acquire().close();
        Lease elsewhere = other.lock("orders/1").acquire();
        assertThat(lock.tryLock()).isFalse();
        assertThat(lock.tryAcquire(Duration.ofMillis(10))).isEmpty();
        CompletableFuture<Lease> cancelled = lock.acquireAsync(PATIENCE);
        cancelled.cancel(false);
        elsewhere.close();
        faults.always(Request.ATTEMPT, Fault.REFUSED);
        assertThatThrownBy(() -> client.lock("orders/2").tryLock()).isInstanceOf(LockUnavailableException.class);
        faults.calm();
        elsewhere = other.lock("orders/1").acquire();
        CompletableFuture<Lease> closed = lock.acquireAsync(PATIENCE);
        client.close();
        assertThatThrownBy(closed::join)
                .isInstanceOf(CompletionException.class)
                .hasCauseInstanceOf(LockClosedException.class);
        elsewhere.close();

        for (String outcome : Set.of("acquired", "busy", "timeout", "interrupted", "unavailable", "error")) {
            untilOne(() -> acquires(outcome));
        }
        assertThat(registry.get("holdfast.lock.acquire")
                        .tag("outcome", "timeout")
                        .timer()
                        .totalTime(TimeUnit.MILLISECONDS))
                .isGreaterThanOrEqualTo(10);
    }

    @Test
    void handOff_isAnOutcomeOfItsOwn() throws Exception {
        bind();
        DistributedLock lock = client.lock("orders/1");
        Lease first = lock.acquire();
        CompletableFuture<Lease> next = lock.acquireAsync(PATIENCE);
        await().until(() -> client.held().get(0).waiters().size() == 1);
        first.close();
        next.get(20, TimeUnit.SECONDS).close();

        untilOne(() -> acquires("acquired"));
        untilOne(() -> acquires("handed_off"));
    }

    @Test
    void hold_isTimed_andALossHasItsReason() throws Exception {
        bind();
        client.lock("orders/1").acquire().close();
        Lease lease = client.lock(
                        "orders/2",
                        LockOptions.builder().maxHold(Duration.ofMillis(30)).build())
                .acquire();
        lease.lost().toCompletableFuture().get(20, TimeUnit.SECONDS);

        untilOne(() -> count("holdfast.lock.lost", "lock", "orders", "reason", "max_hold"));
        Timer released =
                registry.get("holdfast.lock.hold").tags("outcome", "released").timer();
        Timer lost = registry.get("holdfast.lock.hold").tags("outcome", "lost").timer();
        assertThat(released.count()).isEqualTo(1);
        assertThat(lost.count()).isEqualTo(1);
        assertThat(lost.totalTime(TimeUnit.MILLISECONDS)).isGreaterThanOrEqualTo(29);
    }

    @Test
    void renewals_areCounted_andSoAreThoseThatFail() throws Exception {
        bind();
        LockOptions brief = LockOptions.builder().lease(Duration.ofSeconds(6)).build();
        try (Lease lease = client.lock("orders/1", brief).acquire()) {
            await().atMost(PATIENCE)
                    .until(() -> count("holdfast.lock.renewals", "lock", "orders", "outcome", "renewed") >= 1);
            faults.always(Request.RENEW, Fault.REFUSED);
            await().atMost(PATIENCE)
                    .until(() -> count("holdfast.lock.renewals", "lock", "orders", "outcome", "suspect") >= 1);
            faults.calm();
            assertThat(lease.name()).isEqualTo("orders/1");
        } catch (dev.holdfast.lock.LeaseLostException tooSlow) {
            assertThat(tooSlow.reason()).isNotNull(); // a busy machine may lose it; the counts still exist
        }
    }

    @Test
    void gauges_showWhatIsHeldAndWaitedFor_withoutARequest() throws Exception {
        Lease before = client.lock("orders/0").acquire();
        bind();
        Lease lease = client.lock("orders/1").acquire();
        CompletableFuture<Lease> waiting = client.lock("orders/1").acquireAsync(PATIENCE);
        Lease stock = client.lock("stock").acquire();
        await().atMost(PATIENCE).until(() -> gauge("holdfast.lock.waiting", "lock", "orders") == 1);
        long requests = counts.count(Request.HOLDER) + counts.count(Request.ATTEMPT);

        assertThat(gauge("holdfast.lock.held", "store", "memory", "lock", "orders"))
                .isEqualTo(2);
        assertThat(gauge("holdfast.lock.held", "lock", "stock")).isEqualTo(1);
        assertThat(gauge("holdfast.lock.waiting", "lock", "stock")).isZero();
        assertThat(counts.count(Request.HOLDER) + counts.count(Request.ATTEMPT)).isEqualTo(requests);

        lease.close();
        waiting.get(20, TimeUnit.SECONDS).close();
        stock.close();
        before.close();
        assertThat(gauge("holdfast.lock.held", "lock", "orders")).isZero();
        assertThat(gauge("holdfast.lock.waiting", "lock", "orders")).isZero();
    }

    @Test
    void pendingReleases_andDroppedEvents_areShown() throws Exception {
        CountDownLatch busy = new CountDownLatch(1);
        client.addListener(new dev.holdfast.lock.LockListener() {
            @Override
            public void attempted(String name) {
                try {
                    busy.await();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            }
        });
        bind();
        Lease lease = client.lock("orders/1").acquire();
        for (int i = 0; i < 5_100; i++) {
            client.lock("orders/1").tryAcquire();
        }
        double dropped = registry.get("holdfast.events.dropped")
                .tag("store", "memory")
                .functionCounter()
                .count();
        busy.countDown();
        assertThat(dropped).isBetween(1.0, 300.0);

        assertThat(gauge("holdfast.lock.releases.pending", "store", "memory")).isZero();
        faults.always(Request.RELEASE, Fault.REFUSED);
        lease.close();
        untilOne(() -> gauge("holdfast.lock.releases.pending"));
        faults.calm();
        await().atMost(PATIENCE).until(() -> gauge("holdfast.lock.releases.pending") == 0);
    }

    @Test
    void close_removesWhatShowsTheClient_soThatItsSuccessorIsSeen() throws Exception {
        LockMetrics metrics = LockMetrics.of(client);
        metrics.bindTo(registry);
        client.lock("orders/1").acquire().close();
        await().atMost(PATIENCE).until(() -> registry.find("holdfast.lock.held").gauge() != null);
        metrics.close();
        assertThat(registry.find("holdfast.lock.held").gauges()).isEmpty();
        assertThat(registry.find("holdfast.lock.waiting").gauges()).isEmpty();
        assertThat(registry.find("holdfast.lock.releases.pending").gauges()).isEmpty();
        assertThat(registry.find("holdfast.events.dropped").functionCounters()).isEmpty();

        LockMetrics.of(other).bindTo(registry);
        try (Lease lease = other.lock("orders/2").acquire()) {
            assertThat(lease.isValid()).isTrue();
            await().atMost(PATIENCE).until(() -> gauge("holdfast.lock.held", "lock", "orders") == 1);
        }
    }

    @Test
    void readersAndPermits_areCountedEach_byTheirDemand() throws Exception {
        bind();
        DistributedLock read = client.readWriteLock("prices").readLock();
        Lease first = read.acquire();
        Lease joined = read.acquire();
        assertThat(counts.count(Request.ATTEMPT))
                .as("a request for both readers")
                .isOne();
        Lease two = client.semaphore("printers", 3).acquire(2);
        Lease one = client.semaphore("printers", 3).acquire();
        CompletableFuture<Permit> waits = client.semaphore("printers", 3).acquireAsync(1, PATIENCE);
        CompletableFuture<Lease> writer = client.lock("prices").acquireAsync(PATIENCE);

        await().atMost(PATIENCE).until(() -> timed("holdfast.lock.acquire", "prices", "handed_off") == 1);
        await().atMost(PATIENCE).until(() -> timed("holdfast.lock.acquire", "prices", "acquired") == 1);
        await().atMost(PATIENCE).until(() -> timed("holdfast.lock.acquire", "printers", "acquired") == 2);
        await().atMost(PATIENCE)
                .until(() -> gauge("holdfast.lock.held", "lock", "prices", "demand", "exclusive") == 0
                        && gauge("holdfast.lock.held", "lock", "prices", "demand", "shared") == 2);
        assertThat(gauge("holdfast.lock.waiting", "lock", "prices", "demand", "exclusive"))
                .isEqualTo(1);
        assertThat(gauge("holdfast.lock.held", "lock", "printers", "demand", "permits"))
                .as("holders, whatever their permits")
                .isEqualTo(2);
        assertThat(gauge("holdfast.lock.waiting", "lock", "printers", "demand", "permits"))
                .isEqualTo(1);

        first.close();
        joined.close();
        writer.get(20, TimeUnit.SECONDS).close();
        two.close();
        one.close();
        waits.get(20, TimeUnit.SECONDS).close();
        await().atMost(PATIENCE).until(() -> timed("holdfast.lock.hold", "prices", "released") == 3);
        await().atMost(PATIENCE).until(() -> timed("holdfast.lock.hold", "printers", "released") == 3);
        assertThat(gauge("holdfast.lock.held", "lock", "prices", "demand", "shared"))
                .isZero();
    }

    private long timed(String meter, String lock, String outcome) {
        Timer timer =
                registry.find(meter).tags("lock", lock, "outcome", outcome).timer();
        return timer == null ? 0 : timer.count();
    }

    @Test
    void close_stopsListening() throws Exception {
        LockMetrics metrics = LockMetrics.of(client);
        metrics.bindTo(registry);
        client.lock("orders/1").acquire().close();
        untilOne(() -> acquires("acquired"));
        metrics.close();
        metrics.close();
        SimpleMeterRegistry second = new SimpleMeterRegistry();
        LockMetrics.of(client).bindTo(second);
        client.lock("orders/1").acquire().close();

        await().atMost(PATIENCE).until(() -> second.find("holdfast.lock.hold").timer() != null);
        assertThat(acquires("acquired")).isEqualTo(1);
    }
}
