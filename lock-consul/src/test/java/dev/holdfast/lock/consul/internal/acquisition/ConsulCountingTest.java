package dev.holdfast.lock.consul.internal.acquisition;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.renew;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.consul.ConsulFixture;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** How many requests reach the agent, by its own count. */
final class ConsulCountingTest {
    private static final long LEASE_MILLIS = 60_000;
    private static ConsulFixture fixture;

    private final String name = "count-" + System.nanoTime();
    private ConsulLockBackend backend;

    @BeforeAll
    static void start() throws Exception {
        fixture = ConsulFixture.single();
    }

    @AfterAll
    static void stop() {
        fixture.close();
    }

    @BeforeEach
    void open() throws Exception {
        backend = fixture.newBackend(fixture.proxies());
        release(backend, BackendDriver.acquire(backend, name + "-first", LEASE_MILLIS)); // which makes the session
    }

    @AfterEach
    void close() {
        backend.close();
    }

    @Test
    void acquireAndRelease_areOneRequestEach() throws Exception {
        long before = fixture.commands();
        List<Grant> grants = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            grants.add(BackendDriver.acquire(backend, name + i, LEASE_MILLIS));
        }
        long acquired = fixture.commands();
        grants.forEach(grant -> release(backend, grant));

        assertThat(acquired - before).as("20 acquisitions").isEqualTo(20);
        assertThat(fixture.commands() - acquired).as("20 releases").isEqualTo(20);
    }

    @Test
    void firstAcquisition_makesTheSession() throws Exception {
        try (ConsulLockBackend fresh = fixture.newBackend(fixture.proxies())) {
            long before = fixture.commands();
            BackendDriver.acquire(fresh, name, LEASE_MILLIS);

            assertThat(fixture.commands() - before).isEqualTo(2);
        }
    }

    @Test
    void refusedAndAbandoned_isOneRequest() throws Exception {
        BackendDriver.acquire(backend, name, LEASE_MILLIS);
        long before = fixture.commands();
        BackendDriver waiter = BackendDriver.of(backend, name, LEASE_MILLIS);
        waiter.queueUp();
        waiter.abandon();

        assertThat(fixture.commands() - before).isEqualTo(1);
    }

    @Test
    void renewal_isOneOfTheSession_andOneForUpTo64Keys() throws Exception {
        List<Grant> grants = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            grants.add(BackendDriver.acquire(backend, name + i, LEASE_MILLIS));
        }
        long before = fixture.commands();
        renew(backend, grants.subList(0, 1));
        long one = fixture.commands();
        renew(backend, grants);

        assertThat(one - before).as("renewal of one lock").isEqualTo(2);
        assertThat(fixture.commands() - one).as("renewal of 100 locks").isEqualTo(3);
    }

    /** Several threads wait for a name that is held for seconds: one query of this client, and no polls. */
    @Test
    void waiting_isOneQueryAName() throws Exception {
        LockOptions untilTheEnd =
                LockOptions.builder().lease(Duration.ofSeconds(60)).build(); // not renewed before
        try (LockClient holder = fixture.newClient(
                        LockClientOptions.builder().lockOptions(untilTheEnd).build());
                LockClient waiting = fixture.newClient(LockClientOptions.defaults())) {
            Lease held = holder.lock(name).acquire();
            waiting.lock(name + "-warm").acquire().close();
            long before = fixture.commands();
            List<CompletableFuture<Lease>> leases = new ArrayList<>();
            for (int i = 0; i < 5; i++) {
                leases.add(waiting.lock(name).acquireAsync(Duration.ofMinutes(2)));
            }
            long startNanos = System.nanoTime();
            await().atMost(Duration.ofMinutes(1)).until(() -> System.nanoTime() - startNanos > 4_000_000_000L);

            // The attempt and the look at the key; the query that blocks is counted when it ends.
            assertThat(fixture.commands() - before).as("while waiting").isEqualTo(2);
            held.close();
            for (CompletableFuture<Lease> lease : leases) {
                lease.get(1, TimeUnit.MINUTES).close();
            }
        }
    }

    @Test
    void idle_isNothing() throws Exception {
        try (LockClient client = fixture.newClient(LockClientOptions.defaults())) {
            client.lock(name).acquire().close();
            long before = fixture.commands();
            long startNanos = System.nanoTime();
            await().atMost(Duration.ofMinutes(1)).until(() -> System.nanoTime() - startNanos > 3_000_000_000L);

            assertThat(fixture.commands() - before).isZero();
        }
    }
}
