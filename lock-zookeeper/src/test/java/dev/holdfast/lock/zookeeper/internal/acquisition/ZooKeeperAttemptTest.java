package dev.holdfast.lock.zookeeper.internal.acquisition;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.IDENTITY;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.answer;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static dev.holdfast.lock.zookeeper.ZooKeeperFixture.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.GrantListener;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import dev.holdfast.lock.zookeeper.LocalTree;
import dev.holdfast.lock.zookeeper.LocalZooKeeper;
import dev.holdfast.lock.zookeeper.internal.acquisition.ZooKeeperAcquisition.Predecessor;
import dev.holdfast.lock.zookeeper.internal.session.LocalClient;
import dev.holdfast.lock.zookeeper.internal.session.StageHelpers;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Queueing, recovering, handing over and giving up, request by request. No server. */
class ZooKeeperAttemptTest {
    private final LocalTree tree = new LocalTree();
    private final LocalClient first = new LocalClient(tree, true);
    private final LocalClient second = new LocalClient(tree, true);

    ZooKeeperAttemptTest() throws Exception {}

    @AfterEach
    void close() {
        first.close();
        second.close();
    }

    private static String create(BackendDriver driver) {
        return "create EPHEMERAL_SEQUENTIAL " + LocalClient.prefix(driver.acquisition());
    }

    @Test
    void first_ofAName_makesTheNodesAboveInOneTrip() {
        BackendDriver driver = first.driver("a");
        Grant grant = driver.acquire();
        assertThat(first.zk.requests)
                .containsExactly(
                        create(driver),
                        "list /b/a",
                        "create PERSISTENT /b",
                        "create CONTAINER /b/a",
                        create(driver),
                        "list /b/a");
        LocalTree.Node node = tree.nodes.get(LocalClient.path(grant));
        assertThat(node.mode).isEqualTo(CreateMode.EPHEMERAL_SEQUENTIAL);
        assertThat(node.acl).isEqualTo(ZooDefs.Ids.OPEN_ACL_UNSAFE);
        assertThat(new String(node.data, StandardCharsets.UTF_8)).isEqualTo(IDENTITY.encoded());
        assertThat(grant.token()).isEqualTo(node.stat.getCzxid());
        assertThat(grant.leaseMillis()).as("two thirds of the session").isEqualTo(40_000);
        assertThat(tree.nodes.get("/b").data).isEmpty();

        first.zk.requests.clear();
        assertThat(driver.granted(driver.tryAcquire(0)).token()).isEqualTo(grant.token());
        assertThat(first.zk.requests).as("asked again").containsExactly("multi " + LocalClient.path(grant));
    }

    /** The reason why the parent nodes cannot be created says more than that they are missing. */
    @Test
    void first_ofAName_nodesAboveAreRefused_saysThat() {
        first.zk.refuse("create CONTAINER", Code.NOAUTH);
        assertThatThrownBy(() -> first.driver("a").acquire())
                .isInstanceOf(LockConfigurationException.class)
                .hasMessageStartingWith(
                        "ZooKeeper failed to queue for it: NOAUTH at /b/a; give this client's identity");
        first.zk.refuse("create CONTAINER", Code.NODEEXISTS);
        assertThatThrownBy(() -> first.driver("a").acquire())
                .isInstanceOf(LockUnavailableException.class)
                .hasMessage("its nodes at /b/a were deleted 4 times in a row; find out who deletes them");
    }

    @Test
    void busy_withoutAWait_leavesNothing() {
        first.use("a");
        Grant held = first.driver("a").acquire();
        BackendDriver driver = second.driver("a");
        assertThat(driver.tryAcquire(0)).isEqualTo(new AcquireResult.Busy(-1, null));
        assertThat(second.zk.requests).hasSize(3);
        assertThat(second.zk.requests.subList(0, 2)).containsExactly(create(driver), "list /b/a");
        assertThat(second.zk.requests.get(2)).startsWith("delete " + LocalClient.prefix(driver.acquisition()));
        assertThat(first.queue("a")).containsExactly(LocalClient.path(held));
    }

    /** The servers answer the requests of a connection in their order, and renewals share it with attempts. */
    @Test
    void attempts_ofACrowd_areSentAFewAtATime_soThatARenewalWaitsBehindFew() {
        first.use("a");
        Grant held = first.driver("a").acquire();
        first.zk.requests.clear();
        first.zk.hold();
        List<CompletionStage<AcquireResult>> crowd = IntStream.range(0, 100)
                .mapToObj(i -> first.driver("crowd", new Demand.Permits(1, 100)).send(60_000))
                .toList();
        assertThat(first.zk.requests("create")).hasSizeLessThanOrEqualTo(32);

        CompletionStage<List<RenewResult>> renewal = first.backend.renew(List.of(held), 1_000);
        assertThat(first.zk.requests("multi")).as("renewals that were sent").hasSize(1);

        first.zk.answerAll();
        assertThat(answer(renewal)).allMatch(RenewResult.Renewed.class::isInstance);
        assertThat(crowd).allMatch(each -> answer(each) instanceof AcquireResult.Granted);
    }

    /** Its own attempt has already ended the acquisition. */
    @Test
    void attempt_behindTheEndOfItsAcquisition_isNothing() {
        first.use("a");
        first.driver("a").acquire();
        BackendDriver driver = second.driver("a");
        second.zk.hold();
        CompletionStage<AcquireResult> ends = driver.send(0);
        CompletionStage<AcquireResult> late = driver.send(0);
        second.zk.answerAll();
        assertThat(answer(ends)).isInstanceOf(AcquireResult.Busy.class);
        assertThatThrownBy(() -> answer(late))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessage("the attempt came after the end of its acquisition");
        assertThat(first.queue("a")).hasSize(1);
    }

    @Test
    void second_inLine_takesOverWithoutARequest() {
        first.use("a");
        Grant held = first.driver("a").acquire();
        BackendDriver waiter = second.driver("a");
        assertThat(waiter.queueUp().remainingMillis()).isEqualTo(-1);
        AtomicInteger calls = new AtomicInteger();
        second.backend.subscribe(waiter.ticket(), calls::incrementAndGet);
        assertThat(second.zk.requests)
                .containsExactly(
                        create(waiter),
                        "list /b/a",
                        "watch " + LocalClient.path(waiter),
                        "watch " + LocalClient.path(held));
        assertThat(calls).hasValue(0);
        second.zk.requests.clear();

        release(first.backend, held);

        assertThat(calls).hasValue(1);
        Grant next = waiter.acquireQueued();
        assertThat(next.token()).isGreaterThan(held.token());
        assertThat(next.leaseMillis()).isLessThan(40_000);
        assertThat(second.zk.requests).isEmpty();
    }

    /** A quorum decides, even if events were missed. */
    @ParameterizedTest
    @EnumSource(Unproven.class)
    void second_inLine_notProven_asksAQuorum(Unproven why) {
        first.use("a");
        Grant held = first.driver("a").acquire();
        BackendDriver waiter = second.driver("a");
        waiter.queueUp();
        second.backend.subscribe(waiter.ticket(), () -> {});
        String own = LocalClient.path(waiter);
        switch (why) {
            case LAST_WRITE_LONG_AGO -> second.zk.sessionMillis = 3; // two of them are certain, and no quarter of that
            case DISCONNECTED -> second.backend.session().connected(false);
            case STATE -> second.zk.state = ZooKeeper.States.CONNECTEDREADONLY;
        }
        second.zk.requests.clear();
        release(first.backend, held);

        Grant next = waiter.acquireQueued();

        assertThat(second.zk.requests).containsExactly("multi " + own);
        assertThat(next.leaseMillis()).isEqualTo(why == Unproven.LAST_WRITE_LONG_AGO ? 2 : 40_000);
    }

    private enum Unproven {
        LAST_WRITE_LONG_AGO,
        DISCONNECTED,
        STATE
    }

    /** Its predecessor was not the holder: its deletion only means a new predecessor. */
    @Test
    void third_inLine_whoseNeighbourGivesUp_watchesTheNextOne() {
        first.use("a");
        Grant held = first.driver("a").acquire();
        BackendDriver neighbour = first.driver("a");
        neighbour.queueUp();
        BackendDriver waiter = second.driver("a");
        waiter.queueUp();
        ZooKeeperAcquisition node = (ZooKeeperAcquisition) waiter.ticket();
        assertThat(node.predecessor).isEqualTo(new Predecessor(LocalClient.path(neighbour), false));
        AtomicInteger calls = new AtomicInteger();
        second.backend.subscribe(waiter.ticket(), calls::incrementAndGet);
        second.zk.requests.clear();

        neighbour.abandon();
        assertThat(calls).hasValue(1);
        waiter.queueUp();

        assertThat(second.zk.requests).containsExactly("list /b/a", "watch " + LocalClient.path(held));
        assertThat(node.predecessor).isEqualTo(new Predecessor(LocalClient.path(held), true));
        second.zk.requests.clear();
        release(first.backend, held);
        assertThat(calls).hasValue(2);
        waiter.acquireQueued();
        assertThat(second.zk.requests).isEmpty();
    }

    @Test
    void listing_longAfterTheLastWrite_isConfirmedByOneBeforeIt() {
        first.use("a");
        Grant held = first.driver("a").acquire();
        second.zk.sessionMillis = 3;
        BackendDriver waiter = second.driver("a");
        waiter.queueUp();
        String own = LocalClient.path(waiter);
        second.zk.requests.clear();
        waiter.queueUp();
        assertThat(second.zk.requests).containsExactly("multi " + own, "list /b/a");
        second.zk.requests.clear();
        LocalTree.Node deleted = tree.nodes.get(own);
        second.zk.onRequest = request -> {
            if (request.startsWith("list") && second.zk.requests.size() == 2) {
                tree.nodes.put(own, deleted); // its server is behind the quorum
            } else {
                tree.nodes.remove(own);
            }
        };

        waiter.queueUp();

        assertThat(second.zk.requests).containsExactly("multi " + own, "list /b/a", create(waiter), "list /b/a");
        assertThat(LocalClient.path(waiter)).isNotEqualTo(own);
        assertThat(first.queue("a")).containsExactly(LocalClient.path(held), LocalClient.path(waiter));
    }

    @ParameterizedTest
    @EnumSource(LocalZooKeeper.Fault.class)
    void creation_withoutAnAnswer_isLookedFor_orRepeated(LocalZooKeeper.Fault fault) {
        first.use("a");
        BackendDriver driver = first.driver("a");
        first.zk.fail("create EPHEMERAL", fault);
        assertThatThrownBy(driver::acquire)
                .isInstanceOf(LockUnavailableException.class)
                .hasMessage("ZooKeeper failed to queue for it: CONNECTIONLOSS at "
                        + LocalClient.prefix(driver.acquisition())
                        + "; the outcome is unknown, try again when the ensemble answers");
        first.zk.heal();
        first.zk.requests.clear();

        Grant grant = driver.acquire();

        String own = LocalClient.path(grant);
        assertThat(first.queue("a")).containsExactly(own);
        if (fault == LocalZooKeeper.Fault.ANSWER_LOST) {
            assertThat(first.zk.requests)
                    .startsWith("sync /b/a", "list /b/a", "exists " + own)
                    .endsWith("list /b/a")
                    .doesNotContain(create(driver));
        } else {
            assertThat(first.zk.requests).containsExactly("sync /b/a", "list /b/a", create(driver), "list /b/a");
        }
        assertThat(release(first.backend, grant)).isEqualTo(ReleaseResult.RELEASED);
        assertThat(first.queue("a")).isEmpty();
    }

    /** The second node would block its own owner. */
    @Test
    void creation_thatWasCarriedOutTwice_keepsTheFirst() {
        first.use("a");
        BackendDriver driver = first.driver("a");
        first.zk.fail("create EPHEMERAL", LocalZooKeeper.Fault.ANSWER_LOST);
        assertThatThrownBy(driver::acquire).isInstanceOf(LockUnavailableException.class);
        StageHelpers.ignore(first.backend
                .session()
                .create(
                        LocalClient.prefix(driver.acquisition()),
                        new byte[0],
                        ZooDefs.Ids.OPEN_ACL_UNSAFE,
                        CreateMode.EPHEMERAL_SEQUENTIAL));
        List<String> both = first.queue("a");
        assertThat(both).hasSize(2);
        first.zk.heal();

        assertThat(LocalClient.path(driver.acquire())).isEqualTo(both.get(0));

        assertThat(first.queue("a")).containsExactly(both.get(0));
        assertThat(first.zk.requests).contains("delete " + both.get(1));
    }

    @ParameterizedTest
    @EnumSource(
            value = Code.class,
            names = {"NOAUTH", "SESSIONEXPIRED", "QUOTAEXCEEDED"})
    void creation_thatWasRefused_isNotLookedFor(Code refusal) {
        first.use("a");
        BackendDriver driver = first.driver("a");
        first.zk.refuse("create EPHEMERAL", refusal);
        assertThatThrownBy(driver::acquire)
                .hasMessageContaining(refusal + " at " + LocalClient.prefix(driver.acquisition()));
        first.zk.heal();
        first.zk.requests.clear();
        driver.acquire();
        assertThat(first.zk.requests).containsExactly(create(driver), "list /b/a");
    }

    @Test
    void ownNode_isDeletedEachTime_fourTriesThenTheReason() {
        first.use("a");
        first.zk.onCreated = tree::delete;
        assertThatThrownBy(() -> first.driver("a").acquire())
                .isInstanceOf(LockUnavailableException.class)
                .hasMessage("its nodes at /b/a were deleted 4 times in a row; find out who deletes them");
        assertThat(first.zk.requests("create EPHEMERAL")).hasSize(4);
    }

    /**
     * A reader waits only for writers, a writer for all nodes ahead. Only a waiter behind a single node is granted by
     * one deletion.
     */
    @Test
    void shares_waitForWritersAlone() {
        Grant one = first.driver("s", Demand.SHARED).acquire();
        Grant two = second.driver("s", Demand.SHARED).acquire();
        BackendDriver writer = first.driver("s");
        writer.queueUp();
        assertThat(((ZooKeeperAcquisition) writer.ticket()).predecessor)
                .isEqualTo(new Predecessor(LocalClient.path(two), false));
        BackendDriver reader = second.driver("s", Demand.SHARED);
        reader.queueUp();
        assertThat(((ZooKeeperAcquisition) reader.ticket()).predecessor)
                .isEqualTo(new Predecessor(LocalClient.path(writer), true));
        assertThat(ZooKeeperAcquisition.of(one).lowest).isTrue();
        assertThat(ZooKeeperAcquisition.of(two).lowest).isFalse();

        release(second.backend, two);
        writer.queueUp();
        assertThat(((ZooKeeperAcquisition) writer.ticket()).predecessor)
                .isEqualTo(new Predecessor(LocalClient.path(one), true));
        release(first.backend, one);
        writer.acquireQueued();
    }

    /**
     * After two acquisitions in a row, the answer to the creation is enough. If another node was created in between,
     * the queue is listed.
     */
    @Test
    void own_again_isProvenByItsCreationAlone() {
        first.use("a");
        tree.nodes.get("/b/a").created = 1_000; // a name with many writes
        for (int i = 0; i < 2; i++) {
            first.use("a");
        }
        BackendDriver driver = first.driver("a");
        Grant grant = driver.acquire();
        assertThat(first.zk.requests).containsExactly(create(driver));
        release(first.backend, grant);
        release(second.backend, second.driver("a").acquire());
        first.zk.requests.clear();
        BackendDriver next = first.driver("a");
        next.acquire();
        assertThat(first.zk.requests).containsExactly(create(next), "list /b/a");
    }

    @Test
    void container_isGone_nothingIsProvenAnyMore() {
        first.use("a");
        tree.nodes.get("/b/a").created = 1_000;
        for (int i = 0; i < 2; i++) {
            first.use("a");
        }
        tree.delete("/b/a");
        BackendDriver driver = first.driver("a");
        driver.acquire();
        assertThat(first.zk.requests)
                .containsExactly(
                        create(driver), "create PERSISTENT /b", "create CONTAINER /b/a", create(driver), "list /b/a");
    }

    /** In the new container, another node is before the one that looks like the successor. */
    @Test
    void container_isGone_andTheNextOneHasComeToTheNextSequence_isListed() {
        first.use("a");
        tree.nodes.get("/b/a").created = 1_000;
        for (int i = 0; i < 2; i++) {
            first.use("a");
        }
        tree.delete("/b/a");
        first.zk.onRequest = request -> {
            if (request.startsWith("create EPHEMERAL") && first.zk.requests.size() > 1) {
                tree.nodes.get("/b/a").created = 1_001;
                second.driver("a").acquire();
            }
        };
        assertThat(first.driver("a").tryAcquire(0)).isEqualTo(new AcquireResult.Busy(-1, null));
        assertThat(first.queue("a")).hasSize(1);
    }

    @Test
    void noMemory_afterTheCreation_theNextAttemptFindsTheNode() {
        first.use("m");
        BackendDriver driver = first.driver("m");
        first.zk.onCreated = path -> {
            first.zk.onCreated = next -> {};
            throw new OutOfMemoryError("in a test");
        };
        assertThatThrownBy(() -> driver.tryAcquire(BackendDriver.WAIT_MILLIS))
                .isInstanceOf(LockUnavailableException.class);
        driver.acquire();
        assertThat(first.queue("m")).hasSize(1);
    }

    /** Otherwise the node would keep all others waiting for as long as the session lives. */
    @Test
    void noMemory_toReportALoss_theNodeIsDeletedNevertheless() {
        first.use("m");
        first.backend.setGrantListener(new GrantListener() {
            @Override
            public void suspect(Grant grant, String detail) {}

            @Override
            public void lost(Grant grant, LossReason reason, String detail) {
                throw new OutOfMemoryError("in a test");
            }
        });
        BackendDriver.acquire(first.backend, "m", 1);
        await().atMost(PATIENCE).until(() -> first.queue("m").isEmpty());
    }

    @Test
    void release_ofALostGrant_deletesANodeThatIsLeft() {
        first.use("m");
        Grant grant = first.driver("m").acquire();
        ZooKeeperAcquisition.of(grant).lose(LossReason.EXPIRED, "in a test");
        assertThat(release(first.backend, grant)).isEqualTo(ReleaseResult.NOT_HELD);
        assertThat(first.queue("m")).isEmpty();
    }
}
