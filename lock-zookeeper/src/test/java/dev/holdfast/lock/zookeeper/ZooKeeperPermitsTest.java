package dev.holdfast.lock.zookeeper;

import static dev.holdfast.lock.testkit.BackendDriver.release;
import static dev.holdfast.lock.zookeeper.ZooKeeperFixture.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.testkit.BackendDriver;
import dev.holdfast.lock.testkit.server.Direction;
import dev.holdfast.lock.testkit.server.FaultProxy;
import dev.holdfast.lock.testkit.server.LateBytes;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** A slot has one holder, even with late requests and stale sessions. */
class ZooKeeperPermitsTest {
    private static final int SHORT_SESSION_MILLIS = 4_000;
    private static final int SESSION_MILLIS = 60_000;
    private static final AtomicInteger NAMES = new AtomicInteger();
    private static ZooKeeperFixture fixture;
    private static ZooKeeperLockBackend others;

    @BeforeAll
    static void start() throws Exception {
        fixture = ZooKeeperFixture.single();
        others = fixture.newBackend(SESSION_MILLIS);
    }

    @AfterAll
    static void stop() {
        others.close();
        fixture.close();
    }

    private static String newName() {
        return "permits-" + NAMES.incrementAndGet();
    }

    private static BackendDriver driver(LockBackend backend, String name, int permits, int limit) {
        return BackendDriver.of(backend, name, new Demand.Permits(permits, limit), BackendDriver.LEASE_MILLIS);
    }

    /** Checks all holders of permits, by their grants and by the listing of the store. */
    private static void assertSlotsApart(String name, Grant... held) {
        assertThat(held).extracting(Grant::slot).as("slots that are held").doesNotHaveDuplicates();
        List<HolderInfo> reports = BackendDriver.holders(others, name);
        for (Grant grant : held) {
            assertThat(reports)
                    .as("holders, of which one has token %s", grant.token())
                    .anySatisfy(holder -> {
                        assertThat(holder.token()).isEqualTo(grant.token());
                        assertThat(holder.slot()).isEqualTo(grant.slot());
                    });
        }
    }

    @Test
    @DisplayName(
            "A slot that a former session has taken does not count for the same acquisition's place in the next session")
    void slot_ofAFormerSession_isNotTheNextOnes() throws Exception {
        String name = newName();
        try (ZooKeeperLockBackend moves = fixture.newBackend(SHORT_SESSION_MILLIS)) {
            Grant first = driver(others, name, 1, 3).acquire();
            AcquisitionId acquisition = new AcquisitionId(name, OwnerId.random(), new Demand.Permits(1, 3));
            BackendDriver.of(moves, acquisition, BackendDriver.LEASE_MILLIS).acquire();

            // The client gives up its session and asks again in the next one, before the servers end the former one.
            Session former = moves.session();
            Faults.expireByClient(moves);
            await().atMost(PATIENCE).ignoreExceptions().until(() -> moves.session() != former);
            Grant again = BackendDriver.of(moves, acquisition, BackendDriver.LEASE_MILLIS)
                    .awaitThroughFailures(PATIENCE);
            await().atMost(PATIENCE).until(() -> fixture.entries(name) == 2);

            release(others, first);
            Grant second = driver(others, name, 1, 3).acquire();
            Grant third = driver(others, name, 1, 3).acquire();

            assertSlotsApart(name, again, second, third);
            release(others, second);
            release(others, third);
        }
    }

    @Test
    @DisplayName("A waiter whose node was deleted is notified of room for its next node, although it subscribed once")
    void waiter_atAnotherPlace_hearsOfRoom() throws Exception {
        String name = newName();
        Grant held = driver(others, name, 1, 1).acquire();
        try (ZooKeeperLockBackend waits = fixture.newBackend(SESSION_MILLIS)) {
            BackendDriver waiter = driver(waits, name, 1, 1);
            waiter.queueUp();
            ZooKeeperAcquisition node = (ZooKeeperAcquisition) waiter.ticket();
            AtomicInteger calls = new AtomicInteger();
            Subscription subscription = waits.subscribe(node, calls::incrementAndGet);
            fixture.administrator().delete(node.lockNode.path(), -1);
            await().atMost(PATIENCE).until(() -> calls.get() > 0);
            waiter.queueUp();
            calls.set(0);

            release(others, held);

            await().atMost(PATIENCE).until(() -> calls.get() > 0);
            subscription.close();
        }
    }

    @Test
    @DisplayName("A late request for a slot changes nothing when its acquisition already has another one")
    void slot_askedForLate_isNotHadBesideAnother() throws Exception {
        slotAskedForLate(true);
    }

    @Test
    @DisplayName("A request for a slot that arrives before its repetition gives the slot that the repetition reports")
    void slot_askedForLate_isHadOnce() throws Exception {
        slotAskedForLate(false);
    }

    private void slotAskedForLate(boolean repeatedFirst) throws Exception {
        String name = newName();
        try (FaultProxy proxy = fixture.proxies().get(0).another();
                ZooKeeperLockBackend late = (ZooKeeperLockBackend) fixture.newBackend(List.of(proxy))) {
            Grant first = driver(others, name, 1, 3).acquire();
            Grant two = driver(others, name, 2, 3).acquire();
            BackendDriver driver = driver(late, name, 1, 3);
            driver.queueUp();
            release(others, two);

            LateBytes requests = sendUpToTheSlot(proxy, driver);
            requests.cutOff();
            requests.dropClients();
            release(others, first);
            Grant again = null;
            if (repeatedFirst) {
                again = driver.awaitThroughFailures(PATIENCE);
            }
            requests.deliver();
            assertThat(requests.awaitDelivered(PATIENCE)).isTrue();
            // Follows the late request in the order of the server, if it still accepts requests of that connection.
            fixture.administrator().sync("/", (rc, path, context) -> {}, null);
            release(others, driver(others, newName(), 1, 1).acquire());
            if (again == null) {
                again = driver.awaitThroughFailures(PATIENCE);
            }

            Grant second = driver(others, name, 1, 3).acquire();
            Grant third = driver(others, name, 1, 3).acquire();

            assertSlotsApart(name, again, second, third);
            release(others, second);
            release(others, third);
            requests.end();
        }
    }

    /** Delivers the listing and holds back the next request, which acquires the slot. */
    private static LateBytes sendUpToTheSlot(FaultProxy proxy, BackendDriver driver) throws Exception {
        LateBytes replies = proxy.keepBack(Direction.TO_CLIENT);
        CompletionStage<AcquireResult> sent = driver.send(BackendDriver.WAIT_MILLIS);
        assertThat(replies.awaitSome(PATIENCE)).isTrue();
        assertThat(replies.awaitQuiet(PATIENCE)).isTrue();
        LateBytes requests = proxy.keepBack(Direction.TO_SERVER);
        replies.deliver();
        assertThat(requests.awaitSome(PATIENCE)).isTrue();
        assertThat(requests.awaitQuiet(PATIENCE)).isTrue();
        assertThat(sent.toCompletableFuture()).isNotDone();
        return requests;
    }

    @Test
    @DisplayName("Waiters of one session share a watch, and the last one that goes takes it from the server")
    void watches_areTakenFromTheServer() throws Exception {
        String name = newName();
        Grant held = driver(others, name, 2, 2).acquire();
        List<BackendDriver> waiters = new ArrayList<>();
        List<Subscription> subscriptions = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            BackendDriver waiter = driver(others, name, 1, 2);
            waiter.queueUp();
            waiters.add(waiter);
            subscriptions.add(others.subscribe(waiter.ticket(), () -> {}));
        }
        String parent = ZooKeeperFixture.parent(name);
        await().atMost(PATIENCE).until(() -> watched(parent));

        subscriptions.get(0).close();
        BackendDriver.holder(others, name); // behind what the closing sends
        assertThat(watched(parent)).as("watched for the other waiters").isTrue();
        subscriptions.subList(1, 3).forEach(Subscription::close);

        await().atMost(PATIENCE).until(() -> !watched(parent));
        AtomicInteger calls = new AtomicInteger();
        subscriptions.add(others.subscribe(waiters.get(0).ticket(), calls::incrementAndGet));
        await().atMost(PATIENCE).until(() -> watched(parent));
        release(others, held);
        await().atMost(PATIENCE).until(() -> calls.get() > 0);
        waiters.forEach(BackendDriver::abandon);
        await().atMost(PATIENCE).until(() -> !watched(parent));
    }

    private static boolean watched(String path) throws Exception {
        return fixture.server().admin(0, "wchp").lines().anyMatch(path::equals);
    }
}
