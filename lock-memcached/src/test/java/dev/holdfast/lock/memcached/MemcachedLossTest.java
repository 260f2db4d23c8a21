package dev.holdfast.lock.memcached;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.answer;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.holder;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.newAcquisition;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.renew;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.StoreFinding;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.server.MemcachedServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The data that memcached loses, and the consequences that docs/memcached.md describes. */
@House("restores:emptied")
final class MemcachedLossTest {
    private static final Duration PATIENCE = Duration.ofMinutes(1);
    private static final Duration LEASE = Duration.ofSeconds(6);

    private MemcachedServer server;

    @BeforeEach
    void start() throws Exception {
        server = MemcachedServer.start("-m", "2");
    }

    @AfterEach
    void stop() {
        server.close();
    }

    /** The documented loss: between the flush and the renewal there are two holders. */
    @Test
    void flushAll_secondHolderAtOnce_firstIsToldAtItsNextRenewal() throws Exception {
        secondHolder("flushed", () -> server.command("flush_all"));
    }

    @Test
    void restart_secondHolderAtOnce_firstIsToldAtItsNextRenewal() throws Exception {
        secondHolder("restarted", () -> {
            server.process().kill();
            server.process().start();
        });
    }

    /** Other keys fill the memory: memcached evicts the least recently used items, locks among them. */
    @Test
    void eviction_secondHolderAtOnce_firstIsToldAtItsNextRenewal() throws Exception {
        secondHolder("evicted", () -> {
            evict("holdfast:evicted");
            assertThat(server.stat("evictions")).isPositive();
        });
    }

    private interface Step {
        void run() throws Exception;
    }

    private void secondHolder(String name, Step loss) throws Exception {
        LockOptions options = LockOptions.builder().lease(LEASE).build();
        LockClientOptions patient = LockClientOptions.builder()
                .requestTimeout(Duration.ofSeconds(20))
                .build();
        try (LockClient first = LockClient.connect(uri(), patient);
                LockClient second = LockClient.connect(uri(), patient)) {
            Lease held = first.lock(name, options).acquire();
            CompletableFuture<LossReason> told = new CompletableFuture<>();
            held.lost().thenAccept(told::complete);
            loss.run();
            DistributedLock again = second.lock(name, options);
            Lease other = again.acquire(Duration.ofSeconds(50));
            // Exclusion ended with the item. The token is still higher, and the loss is reported to the first holder.
            assertThat(other.token()).isGreaterThan(held.token());
            assertThat(told.get(1, TimeUnit.MINUTES)).isIn(LossReason.REVOKED, LossReason.EXPIRED);
            assertThat(held.isValid()).isFalse();
            assertThatThrownBy(held::close).isInstanceOf(LeaseLostException.class);
            assertThat(other.isValid()).isTrue(); // neither the late renewal nor the release ended the other's lock
            assertThat(again.tryAcquire()).isEmpty();
            other.close();
        }
    }

    @Test
    void renew_afterTheLoss_saysSoAndDoesNotTakeItBack() throws Exception {
        try (LockBackend backend = backend()) {
            Grant gone = acquire(backend, "gone");
            Grant kept = acquire(backend, "kept");
            server.command("delete holdfast:gone");
            List<RenewResult> results = renew(backend, List.of(gone, kept));
            assertThat(results.get(0))
                    .isInstanceOfSatisfying(
                            RenewResult.Lost.class,
                            lost -> assertThat(lost.detail()).contains("evicted"));
            assertThat(results.get(1)).isInstanceOf(RenewResult.Renewed.class);
            assertThat(server.command("get holdfast:gone")).isEmpty();
            Grant next = acquire(backend, "gone");
            assertThat(renew(backend, gone)).isInstanceOf(RenewResult.Lost.class);
            assertThat(release(backend, gone)).isEqualTo(ReleaseResult.NOT_HELD);
            assertThat(renew(backend, next)).isInstanceOf(RenewResult.Renewed.class);
        }
    }

    /** The item is overwritten by a stranger to the library: a loss as well, and the stranger's item is left alone. */
    @Test
    void renew_ofAnOverwrittenItem_isLost() throws Exception {
        try (LockBackend backend = backend()) {
            Grant grant = acquire(backend, "overwritten");
            server.command("set holdfast:overwritten 0 0 5\r\nhello");
            assertThat(renew(backend, grant)).isInstanceOf(RenewResult.Lost.class);
            assertThat(release(backend, grant)).isEqualTo(ReleaseResult.NOT_HELD);
            assertThat(server.command("get holdfast:overwritten")).contains("hello");
        }
    }

    /** A renewal whose reply was lost has changed the cas id. */
    @Test
    void renewAndRelease_withAnOldCasId_findTheItemByItsOwner() throws Exception {
        try (LockBackend backend = backend()) {
            Grant grant = acquire(backend, "old-id");
            CasId id = ItemRenewals.casId(grant);
            CasId.Seen old = id.last();
            renew(backend, grant);
            id.set(old);
            assertThat(renew(backend, grant)).isInstanceOf(RenewResult.Renewed.class);
            assertThat(id.last().value()).isGreaterThan(old.value());
            id.set(old);
            assertThat(release(backend, grant)).isEqualTo(ReleaseResult.RELEASED);
        }
    }

    /** A restarted server counts its cas ids from 1 again, so that two holders' items may have the same. */
    @Test
    void renewAndRelease_overARestart_leaveAnEqualCasIdAlone() throws Exception {
        try (LockBackend first = backend();
                LockBackend second = backend()) {
            Grant renewed = acquire(first, "equal");
            server.process().kill();
            server.process().start();
            Grant other = await().atMost(PATIENCE).ignoreExceptions().until(() -> acquire(second, "equal"), it -> true);
            assertThat(ItemRenewals.casId(other).last().value())
                    .isEqualTo(ItemRenewals.casId(renewed).last().value());
            await().atMost(PATIENCE)
                    .until(() -> renew(first, renewed), result -> !(result instanceof RenewResult.Unknown));
            assertThat(renew(first, renewed)).isInstanceOf(RenewResult.Lost.class);
            assertThat(release(first, renewed)).isEqualTo(ReleaseResult.NOT_HELD);
            assertThat(renew(second, other)).isInstanceOf(RenewResult.Renewed.class);
        }
    }

    @Test
    void token_isTheSame_forARepeatedAttempt_afterARenewal_andForHolder() throws Exception {
        try (LockBackend backend = backend()) {
            AcquisitionId acquisition = newAcquisition("repeated");
            Grant first = grant(backend, acquisition);
            assertThat(holder(backend, "repeated").orElseThrow().token()).isEqualTo(first.token());
            assertThat(grant(backend, acquisition).token()).isEqualTo(first.token());
            renew(backend, first);
            assertThat(holder(backend, "repeated").orElseThrow().token()).isEqualTo(first.token());
            assertThat(grant(backend, acquisition).token()).isEqualTo(first.token());
        }
    }

    @Test
    void tokens_riseOverReleaseExpiryFlushAndRestart() throws Exception {
        try (LockBackend backend = backend()) {
            List<Long> tokens = new ArrayList<>();
            List<Step> between = List.of(
                    () -> {},
                    () -> server.command("delete holdfast:rising"),
                    () -> server.command("flush_all"),
                    () -> {
                        server.process().kill();
                        server.process().start();
                    },
                    () -> {});
            for (Step step : between) {
                await().atMost(PATIENCE).ignoreExceptions().until(() -> {
                    Grant grant = acquire(backend, "rising");
                    tokens.add(grant.token());
                    release(backend, grant);
                    return true;
                });
                step.run();
            }
            assertThat(tokens)
                    .hasSizeGreaterThanOrEqualTo(between.size())
                    .isSorted()
                    .doesNotHaveDuplicates();
        }
    }

    /** Tokens used to be relative to an item, which ordinary traffic could evict, and to the clocks of clients. */
    @Test
    void tokens_riseOverEvictions_forClientsThatHaveJustConnected() throws Exception {
        long before = 0;
        for (int i = 0; i < 3; i++) {
            try (LockBackend backend = backend()) {
                Grant grant = acquire(backend, "evicted");
                assertThat(grant.token()).isGreaterThan(before);
                before = grant.token();
                assertThat(holder(backend, "evicted").orElseThrow().token()).isEqualTo(before);
                release(backend, grant);
            }
            server.command("flush_all");
        }
    }

    /**
     * An attempt that arrives after its abandonment acquires the lock, for its lease and less than five seconds more.
     */
    @Test
    void lateAttempt_holdsTheLockForItsLeaseOnly() throws Exception {
        try (LockBackend backend = backend()) {
            AcquisitionId late = newAcquisition("late");
            answer(backend.abandon(late, BackendDriver.TIMEOUT_MILLIS));
            assertThat(attempt(backend, late, 1_000)).isInstanceOf(AcquireResult.Granted.class);
            assertThat(BackendDriver.tryAcquire(backend, "late")).isInstanceOf(AcquireResult.Busy.class);
            long start = System.nanoTime();
            await().atMost(PATIENCE)
                    .until(() -> BackendDriver.tryAcquire(backend, "late") instanceof AcquireResult.Granted);
            assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(30));
        }
    }

    @Test
    void evictions_areReportedByAnExamination() throws Exception {
        try (LockBackend backend = backend()) {
            assertThat(answer(backend.examine(BackendDriver.TIMEOUT_MILLIS)))
                    .singleElement()
                    .extracting(StoreFinding::grade)
                    .isEqualTo(StoreFinding.Grade.OK);
            acquire(backend, "victim");
            evict("holdfast:victim");
            assertThat(answer(backend.examine(BackendDriver.TIMEOUT_MILLIS)))
                    .singleElement()
                    .satisfies(finding -> {
                        assertThat(finding.grade()).isEqualTo(StoreFinding.Grade.WARNING);
                        assertThat(finding.observation()).contains("memcached has evicted ");
                    });
        }
    }

    private Grant grant(LockBackend backend, AcquisitionId acquisition) {
        return ((AcquireResult.Granted) attempt(backend, acquisition, BackendDriver.LEASE_MILLIS)).grant();
    }

    private static AcquireResult attempt(LockBackend backend, AcquisitionId acquisition, long leaseMillis) {
        return answer(backend.tryAcquire(new AcquireRequest(
                acquisition, leaseMillis, 0, false, null, BackendDriver.TIMEOUT_MILLIS, BackendDriver.IDENTITY)));
    }

    /** A command that does not count as a use of the item: what is used is not evicted next. */
    private boolean isThere(String key) throws Exception {
        return server.command("me " + key + "\r\nversion").stream().anyMatch(line -> line.startsWith("ME "));
    }

    /** Fills the classes of sizes around that of a lock's item, faster than a renewal brings it to the front again. */
    private void evict(String key) throws Exception {
        for (int round = 0; isThere(key); round++) {
            assertThat(round).as("rounds of 60,000 items").isLessThan(50);
            StringBuilder many = new StringBuilder();
            for (int i = 0; i < 60_000; i++) {
                int size = 80 + 20 * (i % 6);
                many.append("set f-" + round + "-" + i + " 0 0 " + size + " noreply\r\n")
                        .append("x".repeat(size))
                        .append("\r\n");
            }
            server.command(many + "version");
        }
    }

    private LockBackend backend() {
        return MemcachedFixture.backend(server);
    }

    private String uri() {
        return "memcached://" + server.host() + ":" + server.port();
    }
}
