package dev.holdfast.lock.redis.internal.script;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.answer;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.renew;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.redis.Attempts;
import dev.holdfast.lock.redis.RedlockFixture;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.Ticket;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import dev.holdfast.lock.testkit.server.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Redlock when masters die. */
final class RedlockTest {
    /** Shorter than a lease. */
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    private RedlockFixture fixture;
    private LockBackend a;
    private LockBackend b;

    @BeforeEach
    void start() throws Exception {
        fixture = new RedlockFixture();
        a = fixture.newBackend();
        b = fixture.newBackend();
    }

    @AfterEach
    void stop() {
        a.close();
        b.close();
        fixture.close();
    }

    @Test
    void twoOfFiveKilled_everythingWorks_threeKilled_nothingIsGranted() throws Exception {
        Grant before = Attempts.grant(a, acquisition());
        kill(0);
        kill(1);
        assertThat(answer(a.renew(List.of(before), BackendDriver.TIMEOUT_MILLIS))
                        .get(0))
                .isInstanceOf(RenewResult.Renewed.class);
        assertThat(Attempts.tryAcquire(b, acquisition(), 0, false, null)).isInstanceOf(AcquireResult.Busy.class);
        assertThat(answer(b.holder("n", BackendDriver.TIMEOUT_MILLIS))).isPresent();
        assertThat(release(a, before)).isEqualTo(ReleaseResult.RELEASED);
        Grant after = Attempts.grant(b, acquisition());
        assertThat(after.token()).isGreaterThan(before.token());
        release(b, after);

        try (LockBackend late = fixture.newBackend()) {
            release(late, Attempts.grant(late, acquisition()));
        }

        kill(2);
        assertThatThrownBy(() -> Attempts.grant(a, acquisition())).isInstanceOf(LockUnavailableException.class);
        for (RedisServer alive : fixture.servers().subList(3, 5)) {
            await().atMost(PATIENCE).until(() -> !Entries.isHeld(alive, keys()));
        }
        assertThatThrownBy(fixture::newBackend)
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("2 of 5");
    }

    @Test
    void restartedMasters_voteAgain() throws Exception {
        kill(0);
        kill(1);
        Grant first = Attempts.grant(a, acquisition());
        release(a, first);
        fixture.servers().get(0).process().start();
        fixture.servers().get(1).process().start();
        await().atMost(PATIENCE).ignoreExceptions().until(() -> {
            Grant grant = Attempts.grant(a, acquisition());
            int holding = holding();
            release(a, grant);
            return holding == 5;
        });
    }

    @Test
    void hungMinority_delaysLittle() throws Exception {
        release(a, Attempts.grant(a, acquisition()));
        fixture.servers().get(0).process().pause();
        fixture.servers().get(1).process().pause();
        try {
            long shortestNanos = Long.MAX_VALUE;
            for (int i = 0; i < 5; i++) {
                long startNanos = System.nanoTime();
                Grant grant = Attempts.grant(a, acquisition());
                assertThat(renew(a, grant)).isInstanceOf(RenewResult.Renewed.class);
                assertThat(release(a, grant)).isEqualTo(ReleaseResult.RELEASED);
                shortestNanos = Math.min(shortestNanos, System.nanoTime() - startNanos);
            }
            assertThat(Duration.ofNanos(shortestNanos))
                    .as("none of the three waits for the time-out of a request")
                    .isLessThan(Duration.ofSeconds(3));
        } finally {
            fixture.servers().get(0).process().resume();
            fixture.servers().get(1).process().resume();
        }
        // What the hung masters granted late was taken back in order.
        await().atMost(PATIENCE).until(() -> fixture.entries("n") == 0);
    }

    @Test
    void minorityGrant_isTakenBack() throws Exception {
        for (RedisServer server : fixture.servers().subList(0, 3)) {
            server.command("SET", keys().lock(), "0 " + "0".repeat(32) + " 0 1 - 0 1 1 h somebody", "PX", "60000");
        }
        AcquireResult.Busy busy = Attempts.busy(a, acquisition(), 0, false, null);
        assertThat(busy.remainingMillis()).isGreaterThan(30_000);
        for (RedisServer server : fixture.servers().subList(3, 5)) {
            await().atMost(PATIENCE).until(() -> !Entries.isHeld(server, keys()));
        }
    }

    /** A master that was paused votes after the count has ended. */
    @Test
    void voteThatComesTooLate_isTakenBack() throws Exception {
        release(a, Attempts.grant(a, acquisition()));
        for (RedisServer server : fixture.servers().subList(0, 3)) {
            server.command("SET", keys().lock(), "0 " + "0".repeat(32) + " 0 1 - 0 1 1 h somebody", "PX", "60000");
        }
        RedisServer late = fixture.servers().get(3);
        long before = late.lockCommands();
        late.process().pause();
        try {
            Attempts.busy(a, acquisition(), 0, false, null);
        } finally {
            late.process().resume();
        }
        await().atMost(PATIENCE).until(() -> late.lockCommands() >= before + 2);
        await().atMost(PATIENCE).until(() -> !Entries.isHeld(late, keys()));
    }

    @Test
    void lease_isShorterByTheDrift() throws Exception {
        Grant grant = ((AcquireResult.Granted) answer(a.tryAcquire(new AcquireRequest(
                        acquisition(), 10_000, 0, false, null, BackendDriver.TIMEOUT_MILLIS, BackendDriver.IDENTITY))))
                .grant();
        assertThat(grant.leaseMillis()).isEqualTo(9_898);
        assertThat(renew(a, List.of(grant))).containsExactly(new RenewResult.Renewed(9_898));
    }

    @Test
    void renewal_oneKeyOfAnotherType_concernsThatLockOnly() throws Exception {
        List<Grant> grants = new ArrayList<>();
        for (String name : List.of("n", "bad", "other")) {
            grants.add(Attempts.grant(a, BackendDriver.newAcquisition(name)));
        }
        for (RedisServer server : fixture.servers()) {
            server.command("DEL", RedisKeys.of("holdfast", "bad").lock());
            server.command("LPUSH", RedisKeys.of("holdfast", "bad").lock(), "of another program");
        }

        List<RenewResult> results = renew(a, grants);

        assertThat(results.get(0)).isInstanceOf(RenewResult.Renewed.class);
        assertThat(results.get(1)).isInstanceOf(RenewResult.Unknown.class);
        assertThat(results.get(2)).isInstanceOf(RenewResult.Renewed.class);
    }

    /** By the drift of a long lease, so that what has passed since the renewal does not count. */
    @Test
    void renewal_asksTheMastersForTheWholeLease() throws Exception {
        Grant grant = ((AcquireResult.Granted) answer(a.tryAcquire(new AcquireRequest(
                        acquisition(),
                        10_000_000,
                        0,
                        false,
                        null,
                        BackendDriver.TIMEOUT_MILLIS,
                        BackendDriver.IDENTITY))))
                .grant();
        RedisServer master = fixture.servers().get(0);
        await().atMost(PATIENCE).until(() -> Entries.isHeld(master, keys()));
        long life = master.number("PTTL", keys().lock());
        fixture.servers().get(1).process().kill();
        fixture.servers().get(2).process().kill(); // the renewal needs this master
        assertThat(renew(a, grant)).isInstanceOf(RenewResult.Renewed.class);
        assertThat(master.number("PTTL", keys().lock())).isGreaterThan(life - 60_000);
    }

    /** Three masters grant, of which one has a token that is ahead of all clocks. */
    @Test
    void token_isTheGreatest_andARenewalTellsItToTheOthers() throws Exception {
        long ahead = (System.currentTimeMillis() + 3_600_000) * 1_000;
        fixture.servers().get(1).command("SET", keys().lock(), "0 - 60000 " + ahead + " - ", "PX", "60000");
        for (RedisServer server : fixture.servers().subList(3, 5)) {
            server.command("SET", keys().lock(), "0 " + "0".repeat(32) + " 0 1 - 0 1 1 h somebody", "PX", "60000");
        }
        Grant grant = Attempts.grant(a, acquisition());
        assertThat(grant.token()).isEqualTo(ahead + 1);
        assertThat(renew(a, grant)).isInstanceOf(RenewResult.Renewed.class);
        for (RedisServer server : fixture.servers().subList(0, 3)) {
            assertThat(String.valueOf(server.command("GET", keys().lock()))).contains(" " + grant.token() + " ");
        }
    }

    /** Three masters hold it with their own tokens, and are to know the greatest, so that the next one is above it everywhere. */
    @Test
    void release_tellsTheTokenToTheOthers() throws Exception {
        long ahead = (System.currentTimeMillis() + 3_600_000) * 1_000;
        fixture.servers().get(1).command("SET", keys().lock(), "0 - 60000 " + ahead + " - ", "PX", "60000");
        for (RedisServer server : fixture.servers().subList(3, 5)) {
            server.command("SET", keys().lock(), "0 " + "0".repeat(32) + " 0 1 - 0 1 1 h somebody", "PX", "60000");
        }
        Grant grant = Attempts.grant(a, acquisition());
        assertThat(release(a, grant)).isEqualTo(ReleaseResult.RELEASED);
        for (RedisServer server : fixture.servers().subList(0, 3)) {
            assertThat(String.valueOf(server.command("GET", keys().lock()))).contains(" - 0 " + grant.token() + " ");
        }
    }

    @Test
    void waiter_isCalledByAMajority_whenAMasterIsDown() throws Exception {
        Grant grant = Attempts.grant(a, acquisition());
        AcquisitionId early = acquisition(); // a new subscription calls all waiters of that time
        await().atMost(PATIENCE).until(() -> {
            Attempts.busy(b, early, 60_000, false, null);
            return oneWaitsSubscribed();
        });
        answer(b.abandon(early, BackendDriver.TIMEOUT_MILLIS));
        Ticket ticket = Attempts.busy(b, acquisition(), 60_000, false, null).ticket();
        kill(0);
        AtomicInteger calls = new AtomicInteger();
        try (Subscription listening = b.subscribe(ticket, calls::incrementAndGet)) {
            int before = calls.get();
            assertThat(release(a, grant)).isEqualTo(ReleaseResult.RELEASED);
            await().atMost(PATIENCE).until(() -> calls.get() > before);
            assertThat(listening).isNotNull();
        }
    }

    /** Whether one waits at each master, and could be called there when it last asked. */
    private boolean oneWaitsSubscribed() throws Exception {
        for (RedisServer server : fixture.servers()) {
            List<?> entries = server.list("HVALS", keys().waiters());
            if (entries.size() != 1 || !entries.get(0).toString().contains(" P ")) {
                return false;
            }
        }
        return true;
    }

    /** There is no waiter any more, so there must be no call. */
    @Test
    void grantByAMajority_leavesNoPlaceInTheOthersQueues() throws Exception {
        List<RedisServer> minority = fixture.servers().subList(3, 5);
        for (RedisServer server : minority) {
            server.command("SET", keys().lock(), "0 " + "0".repeat(32) + " 0 1 - 0 1 1 h somebody", "PX", "60000");
        }
        assertThat(Attempts.tryAcquire(a, acquisition(), 60_000, false, null))
                .isInstanceOf(AcquireResult.Granted.class);
        for (RedisServer server : minority) {
            server.command("PERSIST", keys().queue()); // or it would end by itself
            await().atMost(PATIENCE).until(() -> server.number("ZCARD", keys().queue()) == 0);
        }
    }

    @Test
    void hungMinority_doesNotDelayARenewal() throws Exception {
        Grant grant = Attempts.grant(a, acquisition());
        fixture.servers().get(0).process().pause();
        fixture.servers().get(1).process().pause();
        try {
            CompletableFuture<List<RenewResult>> renewed =
                    a.renew(List.of(grant), 60_000).toCompletableFuture();
            assertThat(renewed.get(PATIENCE.toSeconds(), TimeUnit.SECONDS))
                    .singleElement()
                    .isInstanceOf(RenewResult.Renewed.class);
        } finally {
            fixture.servers().get(0).process().resume();
            fixture.servers().get(1).process().resume();
        }
    }

    @Test
    void lostMajority_isLost() throws Exception {
        Grant grant = Attempts.grant(a, acquisition());
        for (RedisServer server : fixture.servers().subList(0, 3)) {
            server.command("DEL", keys().lock());
        }
        assertThat(renew(a, grant)).isInstanceOf(RenewResult.Lost.class);
        for (RedisServer minority : fixture.servers().subList(3, 5)) {
            await().atMost(PATIENCE).until(() -> !Entries.isHeld(minority, keys()));
        }
        assertThat(release(a, grant)).isEqualTo(ReleaseResult.NOT_HELD);
    }

    /** Without this, a second master that restarts empty a day later would end the majority of a lock held all the time. */
    @Test
    void mastersThatForgot_voteAgainWithTheNextRenewal() throws Exception {
        Grant grant = Attempts.grant(a, acquisition());
        await().atMost(PATIENCE).until(() -> holding() == 5);
        for (int forgets = 0; forgets < 5; forgets += 2) {
            for (RedisServer server : fixture.servers().subList(forgets, Math.min(5, forgets + 2))) {
                server.command("DEL", keys().lock());
            }
            assertThat(renew(a, grant)).isInstanceOf(RenewResult.Renewed.class);
            await().atMost(PATIENCE).until(() -> holding() == 5);
        }
        assertThat(Attempts.tryAcquire(b, acquisition(), 0, false, null)).isInstanceOf(AcquireResult.Busy.class);
        assertThat(release(a, grant)).isEqualTo(ReleaseResult.RELEASED);
        await().atMost(PATIENCE).until(() -> holding() == 0);
        Grant next = Attempts.grant(b, acquisition());
        assertThat(next.token()).isGreaterThan(grant.token());
    }

    private int holding() throws Exception {
        int holding = 0;
        for (RedisServer server : fixture.servers()) {
            holding += Entries.isHeld(server, keys()) ? 1 : 0;
        }
        return holding;
    }

    private void kill(int index) throws Exception {
        fixture.servers().get(index).process().kill();
    }

    private static RedisKeys keys() {
        return RedisKeys.of("holdfast", "n");
    }

    private static AcquisitionId acquisition() {
        return BackendDriver.newAcquisition("n");
    }
}
