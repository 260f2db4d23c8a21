package dev.holdfast.lock.consul;

import static dev.holdfast.lock.testkit.BackendDriver.release;
import static dev.holdfast.lock.testkit.BackendDriver.renew;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.BackendDriver;
import dev.holdfast.lock.testkit.server.Direction;
import dev.holdfast.lock.testkit.server.FaultProxy;
import dev.holdfast.lock.testkit.server.LateBytes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The end of a session, and what a shared session must not keep. */
final class ConsulSessionTest {
    private static final Duration PATIENCE = Duration.ofMinutes(1);
    private static final long LEASE_MILLIS = 2_000;
    /** A session of this length does not end within a test, even if the machine pauses. */
    private static final long LONG_MILLIS = 20_000;

    private static ConsulFixture fixture;

    private final String name = "session-" + System.nanoTime();
    private ConsulLockBackend holder;
    private ConsulLockBackend other;

    @BeforeAll
    static void start() throws Exception {
        fixture = ConsulFixture.single();
    }

    @AfterAll
    static void stop() {
        fixture.close();
    }

    @BeforeEach
    void open() {
        holder = fixture.newBackend(fixture.proxies());
        other = fixture.newBackend(fixture.proxies());
    }

    @AfterEach
    void close() {
        holder.close();
        other.close();
    }

    private static String sessionOf(Grant grant) {
        return ((ConsulHold) grant.handle()).session().id();
    }

    private static void destroy(Grant grant) throws Exception {
        fixture.server().agent().request("PUT", "/v1/session/destroy/" + sessionOf(grant), "");
    }

    private static long millisSince(long nanos) {
        return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - nanos);
    }

    /** By default, the lock-delay keeps other clients away while the holder may count its lease as valid. */
    @Test
    void destroyedByAnOperator_nobodyGetsTheLockWithinTheLease() throws Exception {
        Grant held = BackendDriver.acquire(holder, name, LEASE_MILLIS);
        long confirmedNanos = System.nanoTime();
        assertThat(renew(holder, held)).isInstanceOf(RenewResult.Renewed.class);
        destroy(held);

        Grant next = BackendDriver.of(other, name, LEASE_MILLIS).await(PATIENCE);

        assertThat(millisSince(confirmedNanos)).as("since the last renewal").isGreaterThanOrEqualTo(LEASE_MILLIS);
        assertThat(next.token()).isGreaterThan(held.token());
        assertThat(renew(holder, held)).isInstanceOf(RenewResult.Lost.class);
        assertThat(release(holder, held)).isEqualTo(ReleaseResult.NOT_HELD);
        assertThat(renew(other, next)).isInstanceOf(RenewResult.Renewed.class);
    }

    /** During the delay the key is absent, the lock is free, and an attempt returns when to poll again. */
    @Test
    void lockDelay_isBusyWithoutAHolder() throws Exception {
        Grant held = BackendDriver.acquire(holder, name, LONG_MILLIS);
        destroy(held);

        AcquireResult.Busy busy = BackendDriver.of(other, name, LEASE_MILLIS).assertBusy();

        assertThat(busy.remainingMillis()).isBetween(1L, 1_000L);
        assertThat(BackendDriver.holder(other, name)).isEmpty();
    }

    @Test
    void lockDelayOfZero_handsOverAtOnce() throws Exception {
        try (ConsulLockBackend hasty =
                ConsulFixture.backend(fixture.proxies().get(0).port(), Duration.ZERO)) {
            Grant held = BackendDriver.acquire(hasty, name, 60_000);
            destroy(held);

            assertThat(BackendDriver.acquire(other, name, LEASE_MILLIS).token()).isGreaterThan(held.token());
        }
    }

    @Test
    void release_hasNoLockDelay() {
        Grant held = BackendDriver.acquire(holder, name, 60_000);
        assertThat(release(holder, held)).isEqualTo(ReleaseResult.RELEASED);

        BackendDriver.acquire(other, name, LEASE_MILLIS);
    }

    /** A client that closes ends its sessions only when their locks are released. */
    @Test
    void close_afterRelease_hasNoLockDelay() throws Exception {
        ConsulLockBackend closing = fixture.newBackend(fixture.proxies());
        Grant held = BackendDriver.acquire(closing, name, 60_000);
        release(closing, held);
        closing.close();

        BackendDriver.acquire(other, name, LEASE_MILLIS);
        assertThat(fixture.server().agent().request("GET", "/v1/session/info/" + sessionOf(held), ""))
                .isIn("[]", "null");
    }

    /** The end by TTL comes after the lease, by Consul's doubling, and the token rises over it. */
    @Test
    void expiredByItsTtl_notBeforeTheLease() {
        long sentNanos = System.nanoTime();
        Grant silent = BackendDriver.acquire(holder, name, LEASE_MILLIS);

        Grant next = BackendDriver.of(other, name, LEASE_MILLIS).await(PATIENCE);

        assertThat(millisSince(sentNanos)).isGreaterThanOrEqualTo(silent.leaseMillis());
        assertThat(next.token()).isGreaterThan(silent.token());
        RenewResult late = renew(holder, silent);
        assertThat(late).isInstanceOf(RenewResult.Lost.class);
    }

    /** The loss of all locks of the session is reported, with the reason. */
    @Test
    void destroyed_allLocksOfTheSessionAreLost() throws Exception {
        Grant one = BackendDriver.acquire(holder, name + "1", LONG_MILLIS);
        Grant two = BackendDriver.acquire(holder, name + "2", LONG_MILLIS);
        Grant longer = BackendDriver.acquire(holder, name + "3", 60_000);
        assertThat(sessionOf(one)).isEqualTo(sessionOf(two)).isNotEqualTo(sessionOf(longer));
        destroy(one);

        List<RenewResult> results = renew(holder, List.of(one, longer, two));

        assertThat(results.get(0)).isInstanceOf(RenewResult.Lost.class);
        assertThat(results.get(1)).isInstanceOf(RenewResult.Renewed.class);
        assertThat(results.get(2)).isInstanceOf(RenewResult.Lost.class);
        assertThat(((RenewResult.Lost) results.get(0)).reason()).isIn(LossReason.REVOKED, LossReason.SESSION_LOST);
        await().atMost(PATIENCE)
                .untilAsserted(() -> assertThat(holder.acquisitions().size())
                        .as("remembered acquisitions")
                        .isEqualTo(1));
        BackendDriver.acquire(holder, name + "4", LONG_MILLIS); // on a new session
    }

    /**
     * The key stays on its session, which its other locks keep alive, so the client removes it when it notices the
     * loss.
     */
    @Test
    void keyChangedByHand_isLostAndDoesNotStay() throws Exception {
        Grant alive = BackendDriver.acquire(holder, name + "-alive", LONG_MILLIS);
        Grant held = BackendDriver.acquire(holder, name, LONG_MILLIS);
        fixture.server().agent().request("PUT", ConsulKeys.path(ConsulFixture.KEYS.lock(name)), "by hand");

        assertThat(renew(holder, held)).isInstanceOf(RenewResult.Lost.class);

        await().atMost(PATIENCE).until(() -> fixture.entries(name) == 0);
        assertThat(renew(holder, alive)).isInstanceOf(RenewResult.Renewed.class);
        assertThat(BackendDriver.acquire(other, name).token()).isGreaterThan(held.token());
    }

    /** The same, if the client finds out by its release. */
    @Test
    void keyChangedByHand_doesNotStayAfterARelease() throws Exception {
        Grant alive = BackendDriver.acquire(holder, name + "-alive", LONG_MILLIS);
        Grant held = BackendDriver.acquire(holder, name, LONG_MILLIS);
        fixture.server().agent().request("PUT", ConsulKeys.path(ConsulFixture.KEYS.lock(name)), "by hand");

        assertThat(release(holder, held)).isEqualTo(ReleaseResult.NOT_HELD);

        assertThat(fixture.entries(name)).as("what is left of the lock").isZero();
        assertThat(renew(holder, alive)).isInstanceOf(RenewResult.Renewed.class);
        assertThat(BackendDriver.acquire(other, name).token()).isGreaterThan(held.token());
    }

    /** The session stays alive with its other locks; a key of a late, abandoned attempt would live as long. */
    @Test
    void lateAttempt_onASessionThatIsKeptAlive_takesNothing() throws Exception {
        try (FaultProxy way = fixture.proxies().get(0).another();
                ConsulLockBackend own = fixture.newBackend(List.of(way))) {
            Grant alive = BackendDriver.acquire(own, name + "-alive", LONG_MILLIS);
            LateBytes late = way.keepBack(Direction.TO_SERVER);
            BackendDriver driver = BackendDriver.of(own, name, LONG_MILLIS);
            CompletionStage<AcquireResult> attempt = driver.send(0);
            assertThat(late.awaitSome(PATIENCE)).isTrue();
            assertThat(late.awaitQuiet(PATIENCE)).isTrue();
            late.cutOff();
            late.dropClients();
            await().atMost(PATIENCE).until(() -> attempt.toCompletableFuture().isDone());
            await().atMost(PATIENCE).ignoreExceptions().until(() -> {
                driver.abandon();
                return true;
            });

            late.deliver();
            assertThat(late.awaitDelivered(PATIENCE)).isTrue();

            long startNanos = System.nanoTime();
            while (millisSince(startNanos) < 3_000) {
                assertThat(renew(own, alive)).isInstanceOf(RenewResult.Renewed.class);
                assertThat(fixture.entries(name))
                        .as("what the late attempt has taken")
                        .isZero();
            }
            late.end();
            // The session goes on to serve, from its new epoch.
            Grant next = BackendDriver.acquire(own, name, LONG_MILLIS);
            assertThat(sessionOf(next)).isEqualTo(sessionOf(alive));
            assertThat(next.token()).isGreaterThan(alive.token());
            assertThat(release(own, next)).isEqualTo(ReleaseResult.RELEASED);
        }
    }

    /** A holder that was stopped for longer than its session lives. */
    @Test
    void attempt_afterTheSessionHasExpired_usesANewOne() {
        Grant first = BackendDriver.acquire(holder, name, 1_000);
        long startNanos = System.nanoTime();
        await().atMost(PATIENCE).until(() -> millisSince(startNanos) > 5_000);

        Grant second = BackendDriver.of(holder, name, 1_000).await(PATIENCE);

        assertThat(sessionOf(second)).isNotEqualTo(sessionOf(first));
        assertThat(second.leaseMillis()).isBetween(1L, 1_000L);
    }

    /** A session that is no longer fresh is renewed with the attempt: the grant is not much shorter than the lease. */
    @Test
    void attempt_onAnAgingSession_renewsIt() {
        Grant first = BackendDriver.acquire(holder, name + "1", 8_000);
        long startNanos = System.nanoTime();
        await().atMost(PATIENCE).until(() -> millisSince(startNanos) > 2_500);

        Grant second = BackendDriver.acquire(holder, name + "2", 8_000);

        assertThat(sessionOf(second)).isEqualTo(sessionOf(first));
        assertThat(second.leaseMillis())
                .as("without the renewal it would be 5.5 s or less")
                .isBetween(7_500L, 8_000L);
    }

    /** Deleted keys start again with LockIndex 1; the tokens do not. */
    @Test
    void token_isNotTheLockIndex() throws Exception {
        List<Long> tokens = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            Grant grant = BackendDriver.acquire(holder, name, 60_000);
            assertThat(fixture.content(name)).contains("\"LockIndex\":1").contains("\"CreateIndex\":" + grant.token());
            tokens.add(grant.token());
            release(holder, grant);
        }
        assertThat(tokens).isSorted().doesNotHaveDuplicates();
    }
}
