package dev.holdfast.lock.zookeeper.internal.permit;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.changeLimit;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import dev.holdfast.lock.zookeeper.LocalTree;
import dev.holdfast.lock.zookeeper.internal.session.LocalClient;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Acquiring, waiting for and limiting permits, request by request. No server. */
class PermitAcquirerTest {
    private static final String BOOK = "/b/p/permits";

    private final LocalTree tree = new LocalTree();
    private final LocalClient first = new LocalClient(tree, true);
    private final LocalClient second = new LocalClient(tree, true);

    PermitAcquirerTest() throws Exception {
        first.use("p");
    }

    @AfterEach
    void close() {
        first.close();
        second.close();
    }

    private static BackendDriver driver(LocalClient client, int permits, int limit) {
        return client.driver("p", new Demand.Permits(permits, limit));
    }

    private String permitState() {
        return new String(tree.nodes.get(BOOK).data, StandardCharsets.UTF_8);
    }

    private static String name(String path) {
        return path.substring(path.lastIndexOf('/') + 1);
    }

    @Test
    void first_makesTheBook_andWritesItself() {
        BackendDriver driver = driver(first, 2, 3);
        Grant grant = driver.acquire();
        String path = LocalClient.path(grant);
        assertThat(first.zk.requests)
                .containsExactly(
                        "create EPHEMERAL_SEQUENTIAL " + LocalClient.prefix(driver.acquisition()),
                        "read " + BOOK,
                        "list /b/p",
                        "create PERSISTENT " + BOOK,
                        "read " + BOOK,
                        "list /b/p",
                        "multi " + path + " " + BOOK);
        assertThat(grant.slot()).isEqualTo(1);
        assertThat(permitState()).isEqualTo("3\n" + name(path) + " 1");
        first.zk.requests.clear();
        assertThat(driver.granted(driver.tryAcquire(0)).slot())
                .as("asked again")
                .isEqualTo(1);
    }

    /** The next writer drops the entry of a node that has left. */
    @Test
    void next_hasTheLowestSlot_andTidiesUp() {
        Grant one = driver(first, 1, 3).acquire();
        Grant two = driver(second, 1, 3).acquire();
        release(first.backend, one);
        assertThat(permitState()).contains(name(LocalClient.path(two)) + " 2");

        Grant three = driver(second, 1, 3).acquire();

        assertThat(three.slot()).isEqualTo(1);
        assertThat(permitState().lines().skip(1))
                .containsExactlyInAnyOrder(name(LocalClient.path(two)) + " 2", name(LocalClient.path(three)) + " 1");
        assertThat(BackendDriver.holders(first.backend, "p"))
                .extracting(HolderInfo::slot)
                .containsExactly(2, 1);
    }

    @Test
    void ofAnotherLimit_isToldTheStoredOne_andLeavesNothing() {
        Grant held = driver(first, 1, 3).acquire();
        assertThat(driver(second, 1, 2).tryAcquire(60_000)).isEqualTo(new AcquireResult.OtherLimit(3));
        assertThat(first.queue("p")).containsExactly(LocalClient.path(held));
    }

    @Test
    void noRoom_waits_orLeavesNothing() {
        Grant held = driver(first, 3, 3).acquire();
        assertThat(driver(second, 1, 3).tryAcquire(0)).isEqualTo(new AcquireResult.Busy(-1, null));
        assertThat(first.queue("p")).containsExactly(LocalClient.path(held));
        BackendDriver waiter = driver(second, 1, 3);
        assertThat(waiter.queueUp().remainingMillis()).isEqualTo(-1);
        assertThat(first.queue("p")).hasSize(2);
    }

    /** Behind a lock there is no room, and no state is created. */
    @Test
    void noLimitYet_behindALock_makesTheBookOnlyToWait() {
        first.driver("p").acquire();
        assertThat(driver(second, 1, 2).tryAcquire(0)).isEqualTo(new AcquireResult.Busy(-1, null));
        assertThat(tree.nodes).doesNotContainKey(BOOK);
        driver(second, 1, 2).queueUp();
        assertThat(permitState()).isEqualTo("2");
    }

    @Test
    void write_overtaken_looksAgain_fiftyTimes() {
        driver(first, 1, 100).acquire();
        AtomicInteger overtaken = new AtomicInteger();
        second.zk.onRequest = request -> {
            if (request.startsWith("multi") && overtaken.incrementAndGet() <= 2) {
                var stat = tree.nodes.get(BOOK).stat;
                stat.setVersion(stat.getVersion() + 1);
            }
        };
        assertThat(driver(second, 1, 100).acquire().slot()).isEqualTo(2);
        assertThat(second.zk.requests("multi")).hasSize(3);
        overtaken.set(Integer.MIN_VALUE);
        second.zk.requests.clear();
        assertThatThrownBy(() -> driver(second, 1, 100).acquire())
                .isInstanceOf(LockUnavailableException.class)
                .hasMessage("other clients took permits of 'p' first 50 times in a row");
        assertThat(second.zk.requests("multi")).hasSize(51);
    }

    @Test
    void write_withoutItsPlace_queuesAgain() {
        driver(first, 1, 3).acquire();
        AtomicInteger writes = new AtomicInteger();
        second.zk.onRequest = request -> {
            if (request.startsWith("multi") && writes.incrementAndGet() == 1) {
                tree.delete(request.split(" ")[1]);
            }
        };
        Grant grant = driver(second, 1, 3).acquire();
        assertThat(grant.slot()).isEqualTo(2);
        assertThat(writes).hasValue(2);
        assertThat(second.zk.requests("list")).as("no look in between").hasSize(2);
        assertThat(first.queue("p")).hasSize(2).contains(LocalClient.path(grant));
    }

    @Test
    void book_ofSomebodyElse_isRefused() {
        for (String strange : List.of("x", "", "0", "3\nplace", "3\nplace 0", "3\nplace 1 2", "12345678")) {
            tree.nodes.remove(BOOK);
            tree.create(
                    BOOK,
                    strange.getBytes(StandardCharsets.UTF_8),
                    ZooDefs.Ids.OPEN_ACL_UNSAFE,
                    CreateMode.PERSISTENT,
                    0);
            assertThatThrownBy(() -> driver(first, 1, 3).acquire())
                    .as(strange)
                    .isInstanceOf(LockConfigurationException.class)
                    .hasMessage(
                            BOOK + " does not have the format of stored permits; find out who wrote it, and delete it"
                                    + " when no client holds permits");
        }
    }

    /** A version of -1 would overwrite the node unconditionally. */
    @Test
    void book_writtenAsOftenAsThereAreVersions_isRefused() {
        driver(first, 1, 3).acquire();
        tree.nodes.get(BOOK).stat.setVersion(-1);
        assertThatThrownBy(() -> driver(second, 1, 3).acquire())
                .isInstanceOf(LockConfigurationException.class)
                .hasMessage(BOOK + " was written 2^32 times; delete it when no client holds permits");
        assertThatThrownBy(() -> changeLimit(second.backend, "p", 3, 4)).hasMessageContaining("2^32 times");
    }

    @Test
    void changeLimit_writesTheBook_andTheNodeThatIsWatched() {
        Grant held = driver(first, 1, 3).acquire();
        String entry = "\n" + name(LocalClient.path(held)) + " 1";
        assertThat(changeLimit(second.backend, "p", 3, 5)).isEqualTo(5);
        assertThat(permitState()).isEqualTo("5" + entry);
        assertThat(second.zk.requests).containsExactly("sync /b/p", "read " + BOOK, "multi " + BOOK + " /b/p");
        second.zk.requests.clear();
        assertThat(changeLimit(second.backend, "p", 3, 4))
                .as("from another one")
                .isEqualTo(5);
        assertThat(changeLimit(second.backend, "p", 5, 5)).as("to the same").isEqualTo(5);
        assertThat(second.zk.requests("multi")).isEmpty();
        assertThat(changeLimit(second.backend, "new", 1, 7)).isEqualTo(7);
        assertThat(new String(tree.nodes.get("/b/new/permits").data, StandardCharsets.UTF_8))
                .isEqualTo("7");
        second.zk.requests.clear();
        AtomicInteger writes = new AtomicInteger();
        second.zk.onRequest = request -> {
            if (request.startsWith("multi") && writes.incrementAndGet() == 1) {
                var stat = tree.nodes.get(BOOK).stat;
                stat.setVersion(stat.getVersion() + 1);
            }
        };
        assertThat(changeLimit(second.backend, "p", 5, 6)).as("overtaken").isEqualTo(6);
        assertThat(writes).hasValue(2);
        assertThat(permitState()).isEqualTo("6" + entry);
    }

    @Test
    void waiter_isCalledWhereThereIsRoom_andByAChangedLimit() {
        Grant held = driver(first, 2, 2).acquire();
        BackendDriver waiter = driver(second, 2, 2);
        waiter.queueUp();
        second.zk.requests.clear();
        AtomicInteger calls = new AtomicInteger();
        Subscription subscription = second.backend.subscribe(waiter.ticket(), calls::incrementAndGet);
        assertThat(second.zk.requests)
                .containsExactly("watch " + LocalClient.path(waiter), "watch all /b/p", "exists /b/p", "list /b/p");
        assertThat(calls).hasValue(0);
        BackendDriver behind = driver(first, 1, 2);
        behind.queueUp();
        behind.abandon();
        tree.create("/b/p/foreign", new byte[0], ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT, 0);
        tree.delete("/b/p/foreign");
        assertThat(calls).as("nothing of that makes room").hasValue(0);

        changeLimit(first.backend, "p", 2, 4);
        assertThat(calls).hasValue(1);
        changeLimit(first.backend, "p", 4, 2);
        assertThat(calls).hasValue(2);
        release(first.backend, held);
        assertThat(calls).hasValue(3);

        subscription.close();
        assertThat(second.zk.requests).endsWith("unwatch /b/p");
        changeLimit(first.backend, "p", 2, 3);
        assertThat(calls).hasValue(3);
    }

    /** Events that were missed meanwhile are looked up. */
    @Test
    void waiter_afterAReconnection_looksAgain() {
        Grant held = driver(first, 2, 2).acquire();
        BackendDriver waiter = driver(second, 1, 2);
        waiter.queueUp();
        AtomicInteger calls = new AtomicInteger();
        second.backend.subscribe(waiter.ticket(), calls::incrementAndGet);
        second.curator.tell(KeeperState.Disconnected);
        tree.handles.remove(second.zk); // gets no events
        release(first.backend, held);
        assertThat(calls).hasValue(0);
        tree.handles.add(second.zk);
        second.zk.requests.clear();

        second.curator.tell(KeeperState.SyncConnected);

        assertThat(second.zk.requests).containsExactly("exists /b/p", "list /b/p");
        assertThat(calls).hasValue(1);
        assertThat(waiter.acquireQueued().slot()).isEqualTo(1);
    }

    /** The limit changed between the look of the waiter and its watch. */
    @Test
    void waiter_limitWasChangedBeforeItsWatch_isCalled() {
        driver(first, 2, 2).acquire();
        BackendDriver waiter = driver(second, 2, 2);
        waiter.queueUp();
        changeLimit(first.backend, "p", 2, 4);
        AtomicInteger calls = new AtomicInteger();
        second.backend.subscribe(waiter.ticket(), calls::incrementAndGet);
        assertThat(calls).hasPositiveValue();
    }

    /** All attempts at once would list a long queue once each. */
    @Test
    void attempts_atOnce_shareTheirLooks_andThoseAfterThemNeedNone() {
        driver(first, 2, 2).acquire();
        second.zk.hold();
        List<BackendDriver> drivers = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            drivers.add(driver(second, 1, 2));
            drivers.get(i).send(60_000);
        }
        second.zk.answerAll();
        assertThat(second.zk.requests("list"))
                .as("one for the first, one for all others")
                .hasSize(2);

        drivers.get(0).queueUp();
        second.backend.subscribe(drivers.get(0).ticket(), () -> {});
        second.zk.requests.clear();
        driver(second, 1, 2).queueUp();
        drivers.get(7).queueUp();
        assertThat(second.zk.requests("list")).as("the events show the queue").isEmpty();
    }

    /** All waiters of a session share one watch, until the last one leaves; no watch of an ended session is removed. */
    @Test
    void waiters_ofASession_shareAWatch() {
        driver(first, 2, 2).acquire();
        BackendDriver one = driver(second, 1, 2);
        BackendDriver two = driver(second, 1, 2);
        one.queueUp();
        two.queueUp();
        Subscription firsts = second.backend.subscribe(one.ticket(), () -> {});
        Subscription seconds = second.backend.subscribe(two.ticket(), () -> {});
        assertThat(second.zk.requests("watch all")).hasSize(1);
        firsts.close();
        assertThat(second.zk.isLineWatched("/b/p")).isTrue();
        second.zk.state = ZooKeeper.States.CLOSED;
        seconds.close();
        assertThat(second.zk.requests("unwatch")).isEmpty();
        second.zk.state = ZooKeeper.States.CONNECTED;
    }

    @Test
    void book_isReadAsItIsWritten() {
        PermitState permitState = new PermitState(3, 7, Map.of("one", 1, "two", 2));
        assertThat(PermitState.parse(permitState.bytes(), 7)).contains(permitState);
        assertThat(PermitState.parse("9999999".getBytes(StandardCharsets.UTF_8), 0))
                .contains(new PermitState(9_999_999, 0, Map.of()));
        assertThat(PermitState.ofLimit(4)).isEqualTo(new PermitState(4, 0, Map.of()));
        assertThat(permitState.slotOf("two")).isEqualTo(2);
        assertThat(permitState.slotOf("three")).isZero();
        assertThat(permitState.withLimit(5)).isEqualTo(new PermitState(5, 7, permitState.slots()));
        assertThat(permitState.without("one")).isEqualTo(new PermitState(3, 7, Map.of("two", 2)));
        assertThat(PermitState.NONE.limit()).isZero();
    }
}
