package dev.holdfast.lock.zookeeper.internal.queue;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static dev.holdfast.lock.zookeeper.ZooKeeperFixture.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.ListedLock;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import dev.holdfast.lock.zookeeper.ZooKeeperFixture;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** The cost of shares and permits, their notifications, and their nodes.  */
class ZooKeeperDemandsTest {
    private static final int SESSION_MILLIS = 60_000;
    private static final AtomicInteger NAMES = new AtomicInteger();
    private static ZooKeeperFixture fixture;
    private static ZooKeeperLockBackend first;
    private static ZooKeeperLockBackend second;

    @BeforeAll
    static void start() throws Exception {
        fixture = ZooKeeperFixture.single();
        first = fixture.newBackend(SESSION_MILLIS);
        second = fixture.newBackend(SESSION_MILLIS);
    }

    @AfterAll
    static void stop() {
        first.close();
        second.close();
        fixture.close();
    }

    private static String newName() {
        return "demands-" + NAMES.incrementAndGet();
    }

    private static Demand permits(int permits, int limit) {
        return new Demand.Permits(permits, limit);
    }

    private static BackendDriver driver(LockBackend backend, String name, Demand demand) {
        return BackendDriver.of(backend, name, demand, BackendDriver.LEASE_MILLIS);
    }

    private static AtomicInteger calls(BackendDriver waiter, List<Subscription> subscriptions) {
        waiter.queueUp();
        AtomicInteger calls = new AtomicInteger();
        subscriptions.add(waiter.backend().subscribe(waiter.ticket(), calls::incrementAndGet));
        return calls;
    }

    private static int sum(List<AtomicInteger> calls) {
        return calls.stream().mapToInt(AtomicInteger::get).sum();
    }

    @Test
    @DisplayName("A share costs what a lock costs: two requests in one trip, one after a while, its release one")
    void share_alone_costsWhatALockCosts() throws Exception {
        String name = newName();
        release(first, driver(first, name, Demand.SHARED).acquire());
        RequestCount count = new RequestCount(fixture, first);
        Grant grant = driver(first, name, Demand.SHARED).acquire();
        count.assertRequests("requests of an acquisition", 2);
        release(first, grant);
        count.assertRequests("with the release", 3);

        for (int i = 0; i < 100; i++) {
            release(first, driver(first, name, Demand.SHARED).acquire());
        }
        RequestCount later = new RequestCount(fixture, first);
        release(first, driver(first, name, Demand.SHARED).acquire());
        later.assertRequests("requests of an acquisition and a release", 2);
    }

    @Test
    @DisplayName("A share that was not the first in line when it ended proves nothing about the next one")
    void share_releasedBehindAnother_nextOneListsTheQueue() {
        String name = newName();
        for (int i = 0; i < 20; i++) {
            release(first, driver(first, name, Demand.SHARED).acquire());
        }
        Grant stays = driver(second, name, Demand.SHARED).acquire();
        for (int i = 0; i < 5; i++) {
            release(first, driver(first, name, Demand.SHARED).acquire());
        }

        driver(first, name, Demand.EXCLUSIVE).assertBusy();

        assertThat(release(second, stays)).isEqualTo(ReleaseResult.RELEASED);
    }

    @Test
    @DisplayName("Of 100 waiters for a permit, a release wakes one, which reads the permits and writes its slot")
    void permits_manyWaiters_aReleaseCostsTwoMoreRequests() throws Exception {
        String name = newName();
        Demand one = new Demand.Permits(1, 1);
        Grant grant = driver(first, name, one).acquire();
        List<BackendDriver> waiters = new ArrayList<>();
        List<AtomicInteger> calls = new ArrayList<>();
        // Five seconds after the first of them has joined, the queue is listed again, and the waiter with room is
        // called once more. A busy machine needs that long for a hundred.
        for (int i = 0; i < 30; i++) {
            waiters.add(driver(second, name, one));
            calls.add(calls(waiters.get(i), new ArrayList<>()));
        }
        release(first, grant);
        await().atMost(PATIENCE).until(() -> calls.get(0).get() > 0);
        grant = waiters.get(0).acquireQueued();
        assertThat(sum(calls)).isEqualTo(1);
        RequestCount count = new RequestCount(fixture, second);

        for (int i = 1; i <= 5; i++) {
            AtomicInteger called = calls.get(i);
            release(second, grant);
            await().atMost(PATIENCE).until(() -> called.get() > 0);
            grant = waiters.get(i).acquireQueued();
        }

        count.assertRequests("a deletion, the permits, the slot, five times", 15);
        assertThat(sum(calls)).isEqualTo(6);
        waiters.forEach(BackendDriver::abandon);
    }

    @Test
    @DisplayName("Permits cost four requests in two trips, their release one")
    void permits_cost() throws Exception {
        String name = newName();
        release(first, driver(first, name, permits(1, 3)).acquire());
        RequestCount count = new RequestCount(fixture, first);
        Grant one = driver(first, name, permits(1, 3)).acquire();
        count.assertRequests("create, read the permits, list; write them", 4);
        Grant two = driver(first, name, permits(1, 3)).acquire();
        count.assertRequests("the same again", 8);
        release(first, one);
        count.assertRequests("with a release of the first", 9);
        release(first, two);
        count.assertRequests("with a release of the second", 10);
    }

    @Test
    @DisplayName("A release of three permits wakes only the three waiters that have room")
    void release_ofPermits_callsThoseWithRoom() {
        String name = newName();
        List<Subscription> subscriptions = new ArrayList<>();
        Grant held = driver(first, name, permits(3, 4)).acquire();
        driver(first, name, permits(1, 4)).acquire();
        List<BackendDriver> waiters = new ArrayList<>();
        List<AtomicInteger> calls = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            BackendDriver waiter = driver(i % 2 == 0 ? first : second, name, permits(1, 4));
            calls.add(calls(waiter, subscriptions));
            waiters.add(waiter);
        }
        // Behind each session's watches, in its order.
        driver(first, newName(), Demand.SHARED).acquire();
        driver(second, newName(), Demand.SHARED).acquire();

        release(first, held);

        await().atMost(PATIENCE).until(() -> sum(calls.subList(0, 3)) == 3);
        List<Integer> slots = new ArrayList<>();
        for (BackendDriver waiter : waiters.subList(0, 3)) {
            slots.add(waiter.acquireQueued().slot());
        }
        assertThat(slots).containsExactly(1, 3, 4);
        assertThat(sum(calls)).as("calls of all").isEqualTo(3);
        subscriptions.forEach(Subscription::close);
    }

    @Test
    @DisplayName("A release of a writer wakes the readers behind it, and not those behind the next writer")
    void release_ofAWriter_callsTheReadersBehindIt() {
        String name = newName();
        List<Subscription> subscriptions = new ArrayList<>();
        Grant held = driver(first, name, Demand.EXCLUSIVE).acquire();
        List<AtomicInteger> called = new ArrayList<>();
        List<BackendDriver> readers = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            readers.add(driver(second, name, Demand.SHARED));
            called.add(calls(readers.get(i), subscriptions));
        }
        List<AtomicInteger> silent = new ArrayList<>();
        silent.add(calls(driver(first, name, Demand.EXCLUSIVE), subscriptions));
        for (int i = 0; i < 10; i++) {
            silent.add(calls(driver(second, name, Demand.SHARED), subscriptions));
        }

        release(first, held);

        await().atMost(PATIENCE).until(() -> sum(called) == 10);
        readers.forEach(BackendDriver::acquireQueued);
        assertThat(sum(silent)).isZero();
        subscriptions.forEach(Subscription::close);
    }

    @Test
    @DisplayName("Of two who take one slot at the same moment, the later one takes another")
    void slot_takenAtOnce_isHadOnce() {
        String name = newName();
        for (int round = 0; round < 20; round++) {
            List<BackendDriver> drivers = new ArrayList<>();
            List<CompletionStage<AcquireResult>> sent = new ArrayList<>();
            for (int i = 0; i < 6; i++) {
                drivers.add(driver(i % 2 == 0 ? first : second, name, permits(1, 6)));
                sent.add(drivers.get(i).send(BackendDriver.WAIT_MILLIS));
            }
            List<Grant> grants = new ArrayList<>();
            for (int i = 0; i < 6; i++) {
                grants.add(drivers.get(i).granted(BackendDriver.answer(sent.get(i))));
            }
            assertThat(grants).extracting(Grant::slot).containsExactlyInAnyOrder(1, 2, 3, 4, 5, 6);
            assertThat(BackendDriver.holders(first, name))
                    .extracting(HolderInfo::slot)
                    .containsExactlyInAnyOrder(1, 2, 3, 4, 5, 6);
            for (int i = 0; i < 6; i++) {
                release(drivers.get(i).backend(), grants.get(i));
            }
        }
    }

    @Test
    @DisplayName("A waiter for permits is notified of room that was made while it was cut off")
    void waiter_cutOff_hearsOfRoomAfterwards() {
        String name = newName();
        try (ZooKeeperLockBackend away = fixture.newBackend(SESSION_MILLIS);
                ZooKeeperLockBackend direct = fixture.directBackend()) {
            Grant held = driver(direct, name, permits(2, 2)).acquire();
            List<Subscription> subscriptions = new ArrayList<>();
            BackendDriver waiter = driver(away, name, permits(1, 2));
            AtomicInteger calls = calls(waiter, subscriptions);
            fixture.partition();
            try {
                release(direct, held);
            } finally {
                fixture.heal();
            }
            await().atMost(PATIENCE).until(() -> calls.get() > 0);
            waiter.awaitThroughFailures(Duration.ofSeconds(30));
            subscriptions.forEach(Subscription::close);
        }
    }

    @Test
    @DisplayName("A listing distinguishes holders from waiters")
    void list_tellsHoldersFromWaiters() {
        String name = newName();
        driver(first, name, permits(1, 2)).acquire();
        driver(first, name, permits(1, 2)).acquire();
        driver(first, name, permits(2, 2)).queueUp();
        driver(first, name, Demand.SHARED).queueUp();

        ListedLock lock =
                BackendDriver.answer(first.list(name, 1, 10_000)).locks().get(0);

        assertThat(lock.holders()).extracting(HolderInfo::slot).containsExactly(1, 2);
        assertThat(lock.waiters()).extracting(HolderInfo::demand).containsExactly(permits(2, 2), Demand.SHARED);
    }
}
