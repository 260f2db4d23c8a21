package dev.holdfast.lock.etcd.internal.acquisition;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.acquire;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.etcd.EtcdFixture;
import dev.holdfast.lock.etcd.EtcdInternals;
import dev.holdfast.lock.etcd.internal.client.EtcdKeys;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.support.TestSize;
import io.etcd.jetcd.Client;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** Very many locks at once, by a client with a namespace. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@House("scale:held")
final class EtcdManyLocksTest {
    private static final long LEASE = 300_000;
    private static final long USUAL_LEASE = 15_000;
    private static final long TIMEOUT_MILLIS = 30_000;
    private static final int AT_A_TIME = 1_000;
    private static final int ROUNDS = 5;
    private static final Duration HALF_A_TICK = Duration.ofMillis(2_500);
    private EtcdFixture fixture;

    @BeforeAll
    void start() throws Exception {
        fixture = EtcdFixture.single();
    }

    @AfterAll
    void stop() {
        fixture.close();
    }

    private LockBackend inNamespace() {
        Client client = EtcdInternals.dedicated(
                        Client.builder()
                                .endpoints(fixture.server().endpoints().get(0))
                                .namespace(EtcdKeys.bytes("some/where/")),
                        Duration.ofMinutes(1))
                .build();
        return EtcdInternals.owner(client, EtcdFixture.PREFIX);
    }

    private static List<Grant> grants(LockBackend backend, int count, String names, long lease) throws Exception {
        List<Grant> grants = new ArrayList<>(count);
        for (int done = 0; done < count; done += AT_A_TIME) {
            List<CompletableFuture<AcquireResult>> some = new ArrayList<>();
            for (int i = 0; i < Math.min(AT_A_TIME, count - done); i++) {
                some.add(BackendDriver.of(backend, names + (done + i), lease)
                        .send(0, TIMEOUT_MILLIS)
                        .toCompletableFuture());
            }
            for (CompletableFuture<AcquireResult> attempt : some) {
                grants.add(((AcquireResult.Granted) attempt.get(1, TimeUnit.MINUTES)).grant());
            }
            if (grants.size() % (2 * AT_A_TIME) == 0) {
                renewed(backend, oneOfEachLease(grants)); // full ones are not renewed by acquisitions
            }
        }
        return grants;
    }

    private static List<Grant> oneOfEachLease(List<Grant> grants) {
        Map<SharedLease, Grant> some = new HashMap<>();
        grants.forEach(grant -> some.putIfAbsent(acquisitionOf(grant).lease(), grant));
        return List.copyOf(some.values());
    }

    @Test
    void renewal_ofManyInANamespace_isWellWithinATick_andNoticesTheDeletedOne() throws Exception {
        try (LockBackend backend = inNamespace()) {
            int many = TestSize.of(20_000, 50_000);
            List<Grant> grants = grants(backend, many, "orders/", USUAL_LEASE);
            assertThat(grants.stream()
                            .map(grant -> acquisitionOf(grant).lease())
                            .distinct())
                    .as("leases, none of which has more keys than etcd can list in one answer")
                    .hasSizeBetween(2, 6);
            renewed(backend, grants);

            Duration fifth = roundInBatches(backend, grants.subList(0, many / 5));
            // On a busy machine by what a part of it takes: it does not grow faster than the number of locks.
            Duration bound = Collections.max(List.of(HALF_A_TICK, fifth.multipliedBy(8)));
            Duration took = roundInBatches(backend, grants);
            for (int i = 1; i < ROUNDS && took.compareTo(bound) >= 0; i++) { // the machine may have paused
                took = roundInBatches(backend, grants);
            }

            System.out.printf(
                    "one round of renewals in batches of %d: %d locks %d ms, %d locks %d ms%n",
                    AT_A_TIME, many / 5, fifth.toMillis(), many, took.toMillis());
            assertThat(took).as("of a tick of 5 s").isLessThan(bound);
            fixture.admin()
                    .getKVClient()
                    .delete(EtcdKeys.bytes("some/where/")
                            .concat(acquisitionOf(grants.get(many - 1)).key()))
                    .get(1, TimeUnit.MINUTES);
            List<RenewResult> after = renewed(backend, grants);
            assertThat(after.get(many - 1)).isInstanceOf(RenewResult.Lost.class);
            assertThat(after.stream().filter(result -> result instanceof RenewResult.Renewed))
                    .hasSize(many - 1);
        }
    }

    /** As the engine does it: a thousand by one request, and the next thousand after its answer. */
    private static Duration roundInBatches(LockBackend backend, List<Grant> grants) throws Exception {
        long startNanos = System.nanoTime();
        for (int from = 0; from < grants.size(); from += AT_A_TIME) {
            assertThat(renewed(backend, grants.subList(from, Math.min(grants.size(), from + AT_A_TIME))))
                    .hasOnlyElementsOfType(RenewResult.Renewed.class);
        }
        return Duration.ofNanos(System.nanoTime() - startNanos);
    }

    private static EtcdAcquisition acquisitionOf(Grant grant) {
        return Objects.requireNonNull(EtcdAcquisition.of(grant));
    }

    private static List<RenewResult> renewed(LockBackend backend, List<Grant> grants) throws Exception {
        List<RenewResult> results =
                backend.renew(grants, TIMEOUT_MILLIS).toCompletableFuture().get(1, TimeUnit.MINUTES);
        assertThat(results).as("one result a grant").hasSameSizeAs(grants);
        return results;
    }

    /** The engine renews a thousand locks by one request, and the next thousand after its answer. */
    @Test
    void renewals_inBatches_listALeasesKeysOnceARound_andNoticeADeletedOneInTheNext() throws Exception {
        try (LockBackend backend = inNamespace()) {
            List<Grant> grants = new ArrayList<>(grants(backend, 400, "batched/", LEASE));
            for (int i = 0; i < 5; i++) {
                grants.add(acquire(backend, "longer/" + i, 2 * LEASE));
            }
            Collections.shuffle(grants, new Random(7));
            long reads = fixture.server().calls("LeaseTimeToLive");

            for (int i = 0; i < grants.size(); i += 9) {
                assertThat(renewed(backend, grants.subList(i, Math.min(grants.size(), i + 9))))
                        .hasOnlyElementsOfType(RenewResult.Renewed.class);
            }

            assertThat(fixture.server().calls("LeaseTimeToLive") - reads).isBetween(2L, 20L);
            fixture.admin()
                    .getKVClient()
                    .delete(EtcdKeys.bytes("some/where/")
                            .concat(acquisitionOf(grants.get(1)).key()))
                    .get(1, TimeUnit.MINUTES);
            Grant later = acquire(backend, "batched/later", LEASE);
            assertThat(renewed(backend, List.of(later))).hasOnlyElementsOfType(RenewResult.Renewed.class);
            assertThat(renewed(backend, List.of(grants.get(0)))).hasOnlyElementsOfType(RenewResult.Renewed.class);
            assertThat(renewed(backend, List.of(grants.get(1)))).hasOnlyElementsOfType(RenewResult.Lost.class);
        }
    }
}
