package dev.holdfast.lock.redis;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.answer;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.holders;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.renew;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.ListedLock;
import dev.holdfast.lock.redis.internal.script.TwoBackends;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Shares and permits on a server: what they cost, what their record has, and what becomes of it. */
final class RedisDemandsTest extends TwoBackends {

    private BackendDriver driver(LockBackend backend, Demand demand) {
        return BackendDriver.of(backend, name, demand, BackendDriver.LEASE_MILLIS);
    }

    private static Demand permits(int permits, int limit) {
        return new Demand.Permits(permits, limit);
    }

    private long commandsOf(Runnable requests) throws Exception {
        long before = fixture.commands();
        requests.run();
        return fixture.commands() - before;
    }

    /** The first use of a script costs one command more. */
    private void knowTheScripts() {
        for (Demand demand : List.of(Demand.EXCLUSIVE, Demand.SHARED)) {
            release(a, driver(a, demand).acquire());
        }
    }

    @Test
    void readerAlone_andPermits_costOneCommandEach() throws Exception {
        for (Demand demand : List.of(Demand.SHARED, permits(2, 3))) {
            release(a, driver(a, demand).acquire()); // the server has the scripts
            List<Grant> grants = new ArrayList<>();
            assertThat(commandsOf(() -> grants.add(driver(a, demand).acquire())))
                    .isEqualTo(1);
            assertThat(commandsOf(() -> renew(a, grants.get(0)))).isBetween(1L, 2L); // the script in full, once
            assertThat(commandsOf(() -> renew(a, grants.get(0)))).isEqualTo(1);
            assertThat(commandsOf(() -> release(a, grants.get(0)))).isEqualTo(1);
            fixture.server().command("DEL", keys().lock());
        }
    }

    @Test
    void writer_thatMeetsReaders_costsOneCommandMore_once() throws Exception {
        knowTheScripts();
        Grant share = driver(a, Demand.SHARED).acquire();
        BackendDriver writer = driver(b, Demand.EXCLUSIVE);
        driver(b, Demand.EXCLUSIVE).assertBusy();
        assertThat(commandsOf(writer::queueUp)).isBetween(2L, 3L); // the subscription is made beside it
        await().atMost(Duration.ofSeconds(30))
                .until(() -> !fixture.server().list("PUBSUB", "CHANNELS").isEmpty());
        assertThat(commandsOf(writer::queueUp)).isEqualTo(1);
        assertThat(commandsOf(() -> release(a, share))).isEqualTo(1);
        List<Grant> written = new ArrayList<>();
        assertThat(commandsOf(() -> written.add(writer.acquireQueued()))).isEqualTo(1);
        assertThat(commandsOf(() -> release(b, written.get(0)))).isEqualTo(1);
    }

    @Test
    void mutex_afterShares_isOneCommandEachAgain() throws Exception {
        knowTheScripts();
        List<Grant> grants = new ArrayList<>();
        assertThat(commandsOf(() -> grants.add(driver(a, Demand.EXCLUSIVE).acquire())))
                .isEqualTo(1);
        assertThat(commandsOf(() -> release(a, grants.get(0)))).isEqualTo(1);
        assertThat(fixture.server().command("GET", keys().lock()).toString()).startsWith("0 - ");
    }

    @Test
    void manyShares_areRenewedByOneCommand_besideLocksByAnother() throws Exception {
        List<Grant> grants = new ArrayList<>();
        for (int i = 0; i < 30; i++) {
            grants.add(driver(a, Demand.SHARED).acquire());
            grants.add(BackendDriver.acquire(a, name + i));
        }
        renew(a, grants);
        long before = fixture.commands();
        assertThat(renew(a, grants)).hasSize(60).allMatch(RenewResult.Renewed.class::isInstance);
        assertThat(fixture.commands() - before).isEqualTo(2);
        for (Grant grant : grants) {
            assertThat(release(a, grant)).isEqualTo(ReleaseResult.RELEASED);
        }
        assertThat(fixture.entries(name)).isZero();
    }

    /** A command carries a hundred: the share of the first hundred does not go with the lock of the second. */
    @Test
    void aShare_amongMoreThanAHundredLocks_isRenewedByAScriptOfItsOwn() throws Exception {
        List<Grant> grants = new ArrayList<>();
        grants.add(driver(a, Demand.SHARED).acquire());
        for (int i = 0; i < 100; i++) {
            grants.add(BackendDriver.acquire(a, name + i));
        }
        assertThat(renew(a, grants)).hasSize(101).allMatch(RenewResult.Renewed.class::isInstance);
        for (Grant grant : grants) {
            release(a, grant);
        }
    }

    /** With longer leases, if need be: the machine may pause for longer than a short one. */
    @Test
    void eachShare_endsByItsOwnLease_andTheKeyWithTheLast() throws Exception {
        for (int times = 1; ; times *= 2) {
            try {
                eachShareEndsByItsOwnLease(times * 700L);
                return;
            } catch (AssertionError e) {
                if (times == 8) {
                    throw e;
                }
                fixture.server().command("FLUSHALL");
            }
        }
    }

    private void eachShareEndsByItsOwnLease(long leaseMillis) {
        Grant brief = BackendDriver.of(a, name, Demand.SHARED, 400).acquire();
        Grant renewed = BackendDriver.of(a, name, Demand.SHARED, leaseMillis).acquire();
        Grant longer = BackendDriver.of(b, name, Demand.SHARED, 30_000).acquire();
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(leaseMillis + 1_300);
        await().atMost(PATIENCE).pollInterval(Duration.ofMillis(100)).until(() -> {
            assertThat(renew(a, renewed)).isInstanceOf(RenewResult.Renewed.class);
            return System.nanoTime() - end > 0;
        });
        assertThat(holders(b, name)).extracting(HolderInfo::token).containsExactly(renewed.token(), longer.token());
        assertThat(renew(a, brief)).isInstanceOf(RenewResult.Lost.class);
        release(b, longer);
        await().atMost(PATIENCE).until(() -> holders(b, name).isEmpty());
        assertThat(renew(a, renewed)).isInstanceOf(RenewResult.Lost.class);
        assertThat(driver(b, Demand.EXCLUSIVE).await(PATIENCE).token()).isGreaterThan(longer.token());
    }

    /** The record lives for as long as the longest of them. */
    @Test
    void shareWithAShorterLease_leavesTheOthersTheirs() throws Exception {
        Grant longer = BackendDriver.of(a, name, Demand.SHARED, 60_000).acquire();
        long life = fixture.server().number("PTTL", keys().lock());
        BackendDriver.of(b, name, Demand.SHARED, 400).acquire();
        assertThat(fixture.server().number("PTTL", keys().lock())).isGreaterThan(life - 30_000);
        await().atMost(PATIENCE).until(() -> holders(b, name).size() == 1);
        assertThat(holders(b, name)).extracting(HolderInfo::token).containsExactly(longer.token());
        assertThat(renew(a, longer)).isInstanceOf(RenewResult.Renewed.class);
    }

    @Test
    void deletedKey_losesAll_whoAreToldAtTheirRenewal_andTokensRise() throws Exception {
        Grant one = driver(a, Demand.SHARED).acquire();
        Grant two = driver(b, Demand.SHARED).acquire();
        fixture.server().command("DEL", keys().lock());
        Grant written = driver(b, Demand.EXCLUSIVE).acquire();
        assertThat(written.token()).isGreaterThan(two.token());
        assertThat(renew(a, List.of(one, two))).allMatch(RenewResult.Lost.class::isInstance);
        assertThat(release(a, one)).isEqualTo(ReleaseResult.NOT_HELD);
        assertThat(release(b, two)).isEqualTo(ReleaseResult.NOT_HELD);
        assertThat(release(b, written)).isEqualTo(ReleaseResult.RELEASED);
    }

    @Test
    void lateRequests_changeNothing() throws Exception {
        BackendDriver first = driver(a, Demand.SHARED);
        Grant gone = first.acquire();
        assertThat(release(a, gone)).isEqualTo(ReleaseResult.RELEASED);
        Grant present = driver(b, permits(1, 2)).acquire();
        Object state = fixture.server().command("GET", keys().lock());
        assertThat(renew(a, gone)).isInstanceOf(RenewResult.Lost.class);
        assertThat(release(a, gone)).isEqualTo(ReleaseResult.NOT_HELD);
        first.abandon();
        assertThat(fixture.server().command("GET", keys().lock())).isEqualTo(state);
        assertThat(renew(b, present)).isInstanceOf(RenewResult.Renewed.class);
    }

    @Test
    void slots_areTheLowestThatAreFree_alsoAmongMany() throws Exception {
        List<Grant> grants = new ArrayList<>();
        for (int i = 0; i < 25; i++) {
            grants.add(driver(i % 2 == 0 ? a : b, permits(1, 25)).acquire());
        }
        assertThat(grants)
                .extracting(Grant::slot)
                .isSorted()
                .doesNotHaveDuplicates()
                .endsWith(25);
        driver(b, permits(1, 25)).assertBusy();
        release(a, grants.get(16));
        release(a, grants.get(2));
        assertThat(driver(b, permits(1, 25)).acquire().slot()).isEqualTo(3);
        assertThat(driver(b, permits(1, 25)).acquire().slot()).isEqualTo(17);
    }

    @Test
    void limit_isKeptWhenNobodyHasPermits_andForADay() throws Exception {
        release(a, driver(a, permits(1, 3)).acquire());
        assertThat(driver(b, permits(1, 4)).tryAcquire(0)).isEqualTo(new AcquireResult.OtherLimit(3));
        fixture.server().command("DEL", keys().lock());
        assertThat(driver(b, permits(1, 4)).tryAcquire(0)).isEqualTo(new AcquireResult.OtherLimit(3));
        assertThat(fixture.server().number("PTTL", keys().limit())).isBetween(86_000_000L, 86_400_000L);
        Grant held = driver(a, permits(1, 3)).acquire();
        fixture.server().command("DEL", keys().limit()); // a day later; the record has it still
        assertThat(driver(b, permits(1, 4)).tryAcquire(0)).isEqualTo(new AcquireResult.OtherLimit(3));
        assertThat(BackendDriver.changeLimit(b, name, 3, 4)).isEqualTo(4);
        assertThat(driver(b, permits(3, 4)).acquire().slot()).isEqualTo(2);
        assertThat(renew(a, held)).isInstanceOf(RenewResult.Renewed.class);
    }

    @Test
    void identity_thatLooksLikeAHolder_isNone() throws Exception {
        Identity odd = new Identity("x\n" + OwnerId.random() + "\t1\t1 5 99999999 1 0 4711 h me", "h\th", 7);
        AcquisitionId acquisition = new AcquisitionId(name, OwnerId.random(), permits(1, 2));
        answer(a.tryAcquire(
                new AcquireRequest(acquisition, 30_000, 0, false, null, BackendDriver.TIMEOUT_MILLIS, odd)));
        assertThat(holders(b, name)).singleElement().satisfies(holder -> {
            assertThat(holder.pid()).isEqualTo(7);
            assertThat(holder.slot()).isEqualTo(1);
        });
        assertThat(driver(b, permits(1, 2)).acquire().slot()).isEqualTo(2);
    }

    @Test
    void listing_hasHolders_andWaitersWithTheirDemands() throws Exception {
        driver(a, permits(2, 3)).acquire();
        driver(b, permits(1, 3)).acquire();
        driver(b, permits(2, 3)).queueUp();
        driver(b, Demand.SHARED).queueUp();
        driver(b, Demand.EXCLUSIVE).queueUp();
        ListedLock listed =
                answer(a.list(name, 10, BackendDriver.TIMEOUT_MILLIS)).locks().get(0);
        assertThat(listed.holders()).extracting(HolderInfo::demand).containsExactly(permits(2, 3), permits(1, 3));
        assertThat(listed.waiters())
                .extracting(HolderInfo::demand)
                .containsExactly(permits(2, 3), Demand.SHARED, Demand.EXCLUSIVE);
    }

    @Test
    void waitersThatPoll_haveAPlaceInLine() throws Exception {
        try (RedisFixture polls = RedisFixture.polling();
                LockBackend polling = polls.newBackend()) {
            Grant share = driver(polling, Demand.SHARED).acquire();
            BackendDriver writer = driver(polling, Demand.EXCLUSIVE);
            writer.queueUp();
            BackendDriver late = driver(polling, Demand.SHARED);
            late.assertBusy();
            late.queueUp();
            release(polling, share);
            driver(polling, Demand.SHARED).assertBusy();
            Grant written = writer.acquireQueued();
            release(polling, written);
            assertThat(late.await(PATIENCE).token()).isGreaterThan(written.token());
        }
    }

    @Test
    void writerWhoseProcessIsGone_isNotWaitedFor() throws Exception {
        Grant share = driver(a, Demand.SHARED).acquire();
        LockBackend dies = fixture.newBackend();
        driver(dies, Demand.EXCLUSIVE).queueUp();
        dies.close();
        BackendDriver reader = driver(b, Demand.SHARED);
        reader.queueUp();
        release(a, share);
        assertThat(reader.await(PATIENCE).token()).isGreaterThan(share.token());
    }

    @Test
    void wrongRecord_blocksForItsLifeOnly() throws Exception {
        fixture.server().command("SET", keys().lock(), "+ 5 1000 0 - who knows", "PX", "60000");
        driver(a, Demand.SHARED).assertBusy();
        driver(a, Demand.EXCLUSIVE).assertBusy();
        driver(a, permits(1, 1)).assertBusy();
        assertThat(holders(b, name)).hasSize(1);
        fixture.server().command("DEL", keys().lock());
        release(a, driver(a, Demand.SHARED).acquire());
    }

    @Test
    void keys_allExpire_withSharesAndPermits() throws Exception {
        driver(a, permits(1, 1)).acquire();
        driver(b, permits(1, 1)).queueUp();
        driver(b, Demand.SHARED).queueUp();
        for (String key : keys().withLimit()) {
            assertThat(fixture.server().number("PTTL", key)).as(key).isPositive();
        }
    }
}
