package dev.holdfast.lock.redis.internal.backend;

import static dev.holdfast.lock.redis.Attempts.busy;
import static dev.holdfast.lock.redis.Attempts.grant;
import static dev.holdfast.lock.redis.Attempts.tryAcquire;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.answer;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.holder;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.renew;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.tryAcquire;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.redis.Attempts;
import dev.holdfast.lock.redis.internal.script.RedisKeys;
import dev.holdfast.lock.redis.internal.script.RedisScript;
import dev.holdfast.lock.redis.internal.script.TwoBackends;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Ticket;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import dev.holdfast.lock.testkit.server.network.Direction;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The backend by itself: grants, keys and failures. */
final class RedisLockBackendTest extends TwoBackends {
    @Test
    void attempt_free_grantsWithRisingTokens() throws Exception {
        long last = 0;
        for (int i = 0; i < 20; i++) {
            Grant grant = grant(i % 2 == 0 ? a : b, acquisition());
            assertThat(grant.token()).isGreaterThan(last).isLessThan(1L << 53);
            last = grant.token();
            assertThat(release(a, grant)).isEqualTo(ReleaseResult.RELEASED);
        }
    }

    @Test
    void attempt_again_answersTheSameGrant() throws Exception {
        AcquisitionId mine = acquisition();
        Grant first = grant(a, mine);
        fixture.server().command("PEXPIRE", keys().lock(), "300500");
        Grant second = grant(a, mine);
        assertThat(second.token()).isEqualTo(first.token());
        assertThat(fixture.server().number("PTTL", keys().lock()))
                .as("the lease anew, and for how long the token is remembered after it")
                .isGreaterThan(305_000);
    }

    @Test
    void attempt_busyWithoutWaiting_leavesNothing() throws Exception {
        grant(a, acquisition());
        AcquireResult.Busy busy = busy(b, acquisition(), 0, false, null);
        assertThat(busy.ticket()).isNull();
        assertThat(busy.remainingMillis()).isBetween(Attempts.LEASE_MILLIS / 3, Attempts.LEASE_MILLIS);
        assertThat(fixture.entries(name)).isEqualTo(1);
    }

    @Test
    void pair_uncontended_isTwoCommands() throws Exception {
        release(a, grant(a, acquisition()));
        long before = fixture.commands();
        for (int i = 0; i < 100; i++) {
            release(a, grant(a, acquisition()));
        }
        assertThat(fixture.commands() - before).isEqualTo(200);
        assertThat(fixture.entries(name)).isZero();
    }

    @Test
    void release_twiceAndForeign_isNotHeld() throws Exception {
        Grant grant = grant(a, acquisition());
        assertThat(release(a, grant)).isEqualTo(ReleaseResult.RELEASED);
        assertThat(release(a, grant)).isEqualTo(ReleaseResult.NOT_HELD);
        Grant other = grant(b, acquisition());
        assertThat(release(a, grant)).isEqualTo(ReleaseResult.NOT_HELD);
        assertThat(release(b, other)).isEqualTo(ReleaseResult.RELEASED);
    }

    /** By the Redis client, since its answer was lost: the last four are known. */
    @Test
    void release_sentAgain_getsTheSameAnswer_untilFourOthersHaveReleased() throws Exception {
        String[] release = releaseOf(grant(a, acquisition()));
        assertThat(fixture.server().command(release)).hasToString("[1]");
        for (int others = 0; others < 4; others++) {
            assertThat(fixture.server().command(release)).as("after %d", others).hasToString("[1]");
            assertThat(release(b, grant(b, acquisition()))).isEqualTo(ReleaseResult.RELEASED);
        }
        assertThat(fixture.server().command(release)).hasToString("[0]");
    }

    /** There is a waiter when the others release: then they write the state in another way, and call. */
    @Test
    void release_sentAgain_getsTheSameAnswer_whereOthersWait() throws Exception {
        String[] release = releaseOf(grant(a, acquisition()));
        assertThat(fixture.server().command(release)).hasToString("[1]");
        for (int others = 0; others < 3; others++) {
            Grant next = grant(b, acquisition());
            AcquisitionId waiting = acquisition();
            Ticket ticket = busy(a, waiting, 60_000, false, null).ticket();
            assertThat(release(b, next)).isEqualTo(ReleaseResult.RELEASED);
            assertThat(fixture.server().command(release)).as("after %d", others).hasToString("[1]");
            assertThat(ticket).isNotNull();
            answer(a.abandon(waiting, BackendDriver.TIMEOUT_MILLIS));
        }
    }

    private String[] releaseOf(Grant grant) throws Exception {
        String memory =
                fixture.server().command("GET", keys().lock()).toString().split(" ")[2];
        return Stream.of(
                        new String[] {"EVAL", RedisScript.RELEASE.body(), "3"},
                        keys().all(),
                        RedisScript.end(
                                grant.acquisition().owner().toString(),
                                grant.token(),
                                memory,
                                "release",
                                "0123456789abcdef"))
                .flatMap(Stream::of)
                .toArray(String[]::new);
    }

    @Test
    void release_abandonedOrExpired_isNotHeld() throws Exception {
        Grant abandoned = grant(a, acquisition());
        answer(a.abandon(abandoned.acquisition(), BackendDriver.TIMEOUT_MILLIS));
        assertThat(release(a, abandoned)).isEqualTo(ReleaseResult.NOT_HELD);
        Grant expired = BackendDriver.acquire(a, name, 100);
        await().atMost(PATIENCE).until(() -> fixture.entries(name) == 0);
        assertThat(release(a, expired)).isEqualTo(ReleaseResult.NOT_HELD);
        Grant other = grant(b, acquisition());
        assertThat(release(a, expired)).isEqualTo(ReleaseResult.NOT_HELD);
        assertThat(release(b, other)).isEqualTo(ReleaseResult.RELEASED);
    }

    /** The key stays for a while, for the sake of its token. */
    @Test
    void renew_afterTheLease_doesNotBringItBack() throws Exception {
        Grant expired = BackendDriver.acquire(a, name, 100);
        await().atMost(PATIENCE).until(() -> holder(b, name).isEmpty());
        assertThat(renew(a, expired)).isInstanceOf(RenewResult.Lost.class);
        assertThat(holder(b, name)).isEmpty();
    }

    @Test
    void renew_manyGrants_isOneCommandAHundred() throws Exception {
        List<Grant> grants = new ArrayList<>();
        for (int i = 0; i < 250; i++) {
            grants.add(grant(a, BackendDriver.newAcquisition(name + i)));
        }
        release(a, grants.get(7));
        fixture.server().command("DEL", RedisKeys.of("holdfast", name + 8).lock());
        long before = fixture.commands();
        List<RenewResult> results = renew(a, grants);
        assertThat(results).hasSize(250);
        for (int i = 0; i < 250; i++) {
            if (i == 7 || i == 8) {
                assertThat(results.get(i)).isInstanceOf(RenewResult.Lost.class);
            } else {
                assertThat(results.get(i)).isEqualTo(new RenewResult.Renewed(Attempts.LEASE_MILLIS));
            }
        }
        assertThat(fixture.commands() - before).isEqualTo(3);
        for (Grant grant : grants) {
            release(a, grant);
        }
    }

    @Test
    void renew_manyGrants_isOneTrip() throws Exception {
        List<Grant> grants = new ArrayList<>();
        for (int i = 0; i < 250; i++) {
            grants.add(grant(a, BackendDriver.newAcquisition(name + i)));
        }
        long before = fixture.commands();
        fixture.proxy().hold(Direction.TO_CLIENT);
        CompletableFuture<List<RenewResult>> renewed;
        try {
            renewed = a.renew(grants, 60_000).toCompletableFuture();
            // All commands are with the server before it has answered to any of them.
            await().atMost(PATIENCE).until(() -> fixture.commands() - before == 3);
            assertThat(renewed).isNotDone();
        } finally {
            fixture.proxy().pass();
        }
        assertThat(answer(renewed)).allMatch(RenewResult.Renewed.class::isInstance);
        for (Grant grant : grants) {
            release(a, grant);
        }
    }

    @ParameterizedTest
    @MethodSource("demands")
    void renew_oneKeyOfAnotherType_concernsThatLockOnly(Demand demand) throws Exception {
        List<Grant> grants = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            grants.add(grant(a, new AcquisitionId(name + i, OwnerId.random(), demand)));
        }
        String bad = RedisKeys.of("holdfast", name + 2).lock();
        fixture.server().command("DEL", bad);
        fixture.server().command("LPUSH", bad, "of another program");

        List<RenewResult> results = new ArrayList<>(renew(a, grants));

        fixture.server().command("DEL", bad);
        assertThat(results.remove(2)).isInstanceOf(RenewResult.Unknown.class);
        assertThat(results).hasSize(4).allMatch(RenewResult.Renewed.class::isInstance);
    }

    /** It comes when the next one has been granted, and what it takes back later is not that grant. */
    @ParameterizedTest
    @MethodSource("demands")
    void attemptOfAnEarlierGeneration_thatComesLate_leavesTheGenerationOfTheGrant(Demand demand) throws Exception {
        RedisLockBackend backend = (RedisLockBackend) a;
        AcquisitionId mine = new AcquisitionId(name, OwnerId.random(), demand);
        for (long generation : new long[] {8, 7}) {
            assertThat(answer(backend.tryAcquire(
                            new AcquireRequest(
                                    mine,
                                    Attempts.LEASE_MILLIS,
                                    0,
                                    false,
                                    null,
                                    BackendDriver.TIMEOUT_MILLIS,
                                    BackendDriver.IDENTITY),
                            generation)))
                    .isInstanceOf(AcquireResult.Granted.class);
        }

        assertThat(answer(backend.takeBack(mine, 7, BackendDriver.TIMEOUT_MILLIS)))
                .isFalse();
        assertThat(fixture.entries(name)).isEqualTo(1);
        assertThat(answer(backend.takeBack(mine, 8, BackendDriver.TIMEOUT_MILLIS)))
                .isTrue();
        assertThat(fixture.entries(name)).isZero();
    }

    private static List<Demand> demands() {
        return List.of(Demand.EXCLUSIVE, Demand.SHARED, new Demand.Permits(1, 2));
    }

    @Test
    void scriptFlush_isHealedUnnoticed() throws Exception {
        Grant grant = grant(a, acquisition());
        fixture.server().command("SCRIPT", "FLUSH");
        assertThat(renew(a, List.of(grant))).containsExactly(new RenewResult.Renewed(Attempts.LEASE_MILLIS));
        fixture.server().command("SCRIPT", "FLUSH");
        assertThat(release(a, grant)).isEqualTo(ReleaseResult.RELEASED);
        fixture.server().command("SCRIPT", "FLUSH");
        release(a, grant(a, acquisition()));
    }

    @Test
    void deletedKey_isFreeAtOnce_andTheHolderIsToldAtItsRenewal() throws Exception {
        Grant grant = grant(a, acquisition());
        fixture.server().command("DEL", keys().lock());
        Grant next = grant(b, acquisition());
        assertThat(next.token()).isGreaterThan(grant.token());
        assertThat(renew(a, List.of(grant))).singleElement().isInstanceOf(RenewResult.Lost.class);
        assertThat(release(a, grant)).isEqualTo(ReleaseResult.NOT_HELD);
        assertThat(release(b, next)).isEqualTo(ReleaseResult.RELEASED);
    }

    @Test
    void flushAll_neverLowersAToken() throws Exception {
        Grant before = grant(a, acquisition());
        fixture.server().command("FLUSHALL");
        assertThat(grant(b, acquisition()).token()).isGreaterThan(before.token());
    }

    @Test
    void tokenAheadOfTheClock_stillRises() throws Exception {
        long ahead = (System.currentTimeMillis() + 3_600_000) * 1_000;
        fixture.server().command("SET", keys().lock(), "0 - 60000 " + ahead + " - ", "PX", "60000");
        Grant grant = grant(a, acquisition());
        assertThat(grant.token()).isEqualTo(ahead + 1);
        release(a, grant);
        assertThat(grant(a, acquisition()).token()).isEqualTo(ahead + 2);
    }

    @Test
    void tokensUsedUp_isToldAsThat() throws Exception {
        fixture.server().command("SET", keys().lock(), "0 - 60000 " + ((1L << 53) - 1) + " - ", "PX", "60000");
        assertThatThrownBy(() -> answer(a.tryAcquire(new AcquireRequest(
                        acquisition(), 10_000, 0, false, null, BackendDriver.TIMEOUT_MILLIS, BackendDriver.IDENTITY))))
                .isInstanceOf(LockConfigurationException.class)
                .hasMessageContaining("no greater token below 2^53")
                .hasMessageContaining(keys().lock());
        fixture.server().command("DEL", keys().lock());
        release(a, grant(a, acquisition()));
    }

    @Test
    void releasedName_costsTheServerLittle_andNotForLong() throws Exception {
        release(a, grant(a, acquisition()));
        assertThat(fixture.server().number("PTTL", keys().lock())).isBetween(200_000L, 300_000L);
        assertThat(fixture.server().number("DBSIZE")).isPositive();
        String small = keys().lock();
        assertThat(fixture.server().number("MEMORY", "USAGE", small) - small.length())
                .isLessThan(130);
    }

    @Test
    void whateverTheKeyHas_blocksForItsLifeOnly_andIsShown() throws Exception {
        fixture.server().command("SET", keys().lock(), "reserved by an operator", "PX", "60000");
        AcquireResult.Busy busy = busy(a, acquisition(), 60_000, false, null);
        assertThat(busy.remainingMillis()).isBetween(1L, 60_000L);
        assertThat(holder(a, name).orElseThrow().who()).isEqualTo("reserved by an operator");
        fixture.server().command("PEXPIRE", keys().lock(), "1");
        await().atMost(PATIENCE)
                .until(() -> tryAcquire(a, acquisition(), 0, false, null) instanceof AcquireResult.Granted);
    }

    @Test
    void keys_allExpire() throws Exception {
        grant(a, acquisition());
        busy(b, acquisition(), 60_000, false, null);
        for (String key : keys().all()) {
            assertThat((Long) fixture.server().command("PTTL", key)).as(key).isPositive();
        }
    }

    @Test
    void holder_isShown() throws Exception {
        assertThat(holder(a, name)).isEmpty();
        Grant grant = grant(a, acquisition());
        var holder = holder(b, name).orElseThrow();
        assertThat(holder.who()).isEqualTo(BackendDriver.IDENTITY.who());
        assertThat(holder.host()).isEqualTo(BackendDriver.IDENTITY.host());
        assertThat(holder.pid()).isEqualTo(BackendDriver.IDENTITY.pid());
        assertThat(holder.token()).isEqualTo(grant.token());
        assertThat(Duration.between(holder.since(), Instant.now())).isBetween(Duration.ZERO, Duration.ofMinutes(1));
    }

    @Test
    void names_thatLookAlike_neverInteract() throws Exception {
        List<Grant> grants = new ArrayList<>();
        for (String each : List.of("a", "a ", "A", "{a}", "a}", "a:t", "a}:t", "a/b", "a%2Fb", "ä", "a\u0308", "日本語")) {
            grants.add(grant(a, BackendDriver.newAcquisition(each)));
        }
        for (Grant grant : grants) {
            assertThat(release(b, grant)).isEqualTo(ReleaseResult.RELEASED);
        }
    }

    @Test
    void serverPaused_isUnavailableWithinTheTimeout() throws Exception {
        AcquisitionId mine = acquisition();
        fixture.pause();
        try {
            Duration best = Duration.ofDays(1);
            for (int i = 0; i < 10 && best.toSeconds() > 0; i++) { // not if the machine pauses
                long start = System.nanoTime();
                assertThatThrownBy(() -> answer(a.tryAcquire(
                                new AcquireRequest(mine, 10_000, 0, false, null, 300, BackendDriver.IDENTITY))))
                        .isInstanceOf(LockUnavailableException.class)
                        .hasMessageContaining("no answer from Redis");
                best = Collections.min(List.of(best, Duration.ofNanos(System.nanoTime() - start)));
            }
            assertThat(best).as("with a time-out of 300 ms").isLessThan(Duration.ofSeconds(1));
        } finally {
            fixture.resume();
        }
        // The late grant is resolved by the owner id, and ended by abandon.
        answer(a.abandon(mine, BackendDriver.TIMEOUT_MILLIS));
        assertThat(fixture.entries(name)).isZero();
    }

    @Test
    void partition_isUnavailableAndHeals() throws Exception {
        Grant grant = grant(a, acquisition());
        fixture.partition();
        try {
            assertThatThrownBy(() -> answer(a.holder(name, 1_000))).isInstanceOf(LockUnavailableException.class);
            List<RenewResult> renewed = answer(a.renew(List.of(grant), 1_000));
            assertThat(renewed).singleElement().isInstanceOf(RenewResult.Unknown.class);
        } finally {
            fixture.heal();
        }
        await().atMost(PATIENCE)
                .ignoreExceptions()
                .until(() -> answer(a.holder(name, 1_000)).isPresent());
    }

    @Test
    void silentlyDeadConnection_isReplaced() throws Exception {
        Grant grant = grant(a, acquisition());
        fixture.proxy().halfOpen(Direction.TO_SERVER);
        await().atMost(PATIENCE)
                .ignoreExceptions()
                .until(() -> answer(a.renew(List.of(grant), 800)).get(0) instanceof RenewResult.Renewed);
    }

    @Test
    void wrongType_isAConfigurationError() throws Exception {
        fixture.server().command("LPUSH", keys().lock(), "x");
        assertThatThrownBy(() -> answer(a.tryAcquire(new AcquireRequest(
                        acquisition(), 10_000, 0, false, null, BackendDriver.TIMEOUT_MILLIS, BackendDriver.IDENTITY))))
                .isInstanceOf(LockConfigurationException.class)
                .hasMessageContaining("another prefix");
        fixture.server().command("DEL", keys().lock());
    }
}
