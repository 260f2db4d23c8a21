package dev.holdfast.lock.zookeeper.internal.session;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.answer;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.renew;
import static dev.holdfast.lock.zookeeper.ZooKeeperFixture.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.LockClosedException;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.StoreFinding;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import dev.holdfast.lock.zookeeper.LocalTree;
import dev.holdfast.lock.zookeeper.LocalZooKeeper;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.imps.CuratorFrameworkState;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooKeeper;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Grants that are renewed, released, suspected and lost. No server. */
class ZooKeeperHoldTest {
    private final LocalTree tree = new LocalTree();
    private final LocalClient client = new LocalClient(tree, true);

    ZooKeeperHoldTest() throws Exception {
        client.use("a");
    }

    private static ConditionFactory soon() {
        return await().atMost(PATIENCE).pollDelay(Duration.ZERO).pollInterval(Duration.ofMillis(1));
    }

    @AfterEach
    void close() {
        client.close();
    }

    private Grant acquire(String name) {
        Grant grant = client.driver(name).acquire();
        client.zk.requests.clear();
        return grant;
    }

    private static RenewResult lost(LossReason reason, String detail) {
        return new RenewResult.Lost(reason, detail);
    }

    @Test
    void release_deletesItsNode_once() {
        Grant grant = acquire("a");
        String path = LocalClient.path(grant);
        assertThat(release(client.backend, grant)).isEqualTo(ReleaseResult.RELEASED);
        assertThat(release(client.backend, grant)).isEqualTo(ReleaseResult.NOT_HELD);
        assertThat(client.zk.requests).containsExactly("delete " + path);
        assertThat(renew(client.backend, grant)).isEqualTo(lost(LossReason.REVOKED, "it was released"));

        Grant deleted = acquire("a");
        tree.delete(LocalClient.path(deleted));
        assertThat(release(client.backend, deleted)).isEqualTo(ReleaseResult.NOT_HELD);
        assertThat(client.reports).isEmpty();
    }

    /**
     * The deletion is repeated when the session is connected again: the lock was held, whichever deletion removed the
     * node.
     */
    @ParameterizedTest
    @EnumSource(LocalZooKeeper.Fault.class)
    void release_withoutAnAnswer_isRepeated(LocalZooKeeper.Fault fault) {
        Grant grant = acquire("a");
        String path = LocalClient.path(grant);
        client.curator.tell(KeeperState.Disconnected);
        client.zk.fail("delete", fault);
        assertThatThrownBy(() -> release(client.backend, grant))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessage("ZooKeeper failed to release it: CONNECTIONLOSS at " + path
                        + "; the outcome is unknown, try again when the ensemble answers");
        assertThat(client.zk.requests).containsExactly("delete " + path);
        client.zk.heal();

        client.curator.tell(KeeperState.SyncConnected);

        assertThat(client.zk.requests).containsExactly("delete " + path, "delete " + path);
        assertThat(client.queue("a")).isEmpty();
        client.curator.tell(KeeperState.SyncConnected);
        assertThat(client.zk.requests).as("after the cleanup").hasSize(2);
    }

    @Test
    void release_withoutAnAnswer_askedForAgain_saysThatItWasHeld() {
        Grant grant = acquire("a");
        client.curator.tell(KeeperState.Disconnected);
        client.zk.fail("delete", LocalZooKeeper.Fault.ANSWER_LOST);
        assertThatThrownBy(() -> release(client.backend, grant)).isInstanceOf(LockUnavailableException.class);
        client.zk.heal();
        assertThat(release(client.backend, grant)).isEqualTo(ReleaseResult.RELEASED);
    }

    @ParameterizedTest
    @CsvSource({"NOAUTH, true", "SESSIONEXPIRED, false"})
    void release_thatIsRefused_isNotRepeated(Code refusal, boolean fails) {
        Grant grant = acquire("a");
        client.zk.refuse("delete", refusal);
        if (fails) {
            assertThatThrownBy(() -> release(client.backend, grant))
                    .isInstanceOf(LockConfigurationException.class)
                    .hasMessageStartingWith("ZooKeeper failed to release it: NOAUTH at /b/a/");
        } else {
            assertThat(release(client.backend, grant)).isEqualTo(ReleaseResult.NOT_HELD);
        }
        client.curator.tell(KeeperState.SyncConnected);
        assertThat(client.zk.requests("delete")).hasSize(1);
    }

    @Test
    void grant_ofAnother_isNotTouched() {
        Grant grant = acquire("a");
        Grant strange = new Grant(
                BackendDriver.newAcquisition("a"), grant.token(), grant.leaseMillis(), grant.slot(), grant.handle());
        assertThat(release(client.backend, strange)).isEqualTo(ReleaseResult.NOT_HELD);
        assertThat(renew(client.backend, List.of(strange, grant)))
                .containsExactly(
                        lost(LossReason.REVOKED, "it belongs to another owner"), new RenewResult.Renewed(40_000));
        assertThat(client.zk.requests("delete")).isEmpty();
        Grant other = new Grant(grant.acquisition(), grant.token(), grant.leaseMillis(), grant.slot(), "x");
        assertThatThrownBy(() -> release(client.backend, other)).hasMessage("the grant was not made by ZooKeeper");
    }

    @Test
    void renew_twoHundredAtATime_andEachNodeIsWatchedOnce() {
        List<Grant> grants = new ArrayList<>();
        for (int i = 0; i < 201; i++) {
            grants.add(acquire("many " + i));
        }
        assertThat(answer(client.backend.renew(grants, 1_000)))
                .hasSize(201)
                .containsOnly(new RenewResult.Renewed(40_000));
        assertThat(client.zk.requests("multi")).hasSize(2);
        assertThat(client.zk.requests("multi").get(0).split(" ")).hasSize(201);
        assertThat(client.zk.requests("multi").get(1)).isEqualTo("multi " + LocalClient.path(grants.get(200)));
        assertThat(client.zk.requests("watch")).hasSize(201);
        client.zk.requests.clear();
        answer(client.backend.renew(grants, 1_000));
        assertThat(client.zk.requests).containsExactly("multi " + LocalClient.path(grants.get(0)));
    }

    /** Each write of a renewal is in the transaction log of every server. */
    @Test
    void renew_watchedNodes_asksForOne_andKnowsOfTheOthers() {
        List<Grant> grants = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            grants.add(acquire("watched " + i));
        }
        answer(client.backend.renew(grants, 1_000));
        Grant fresh = acquire("fresh");
        grants.add(fresh);
        tree.delete(LocalClient.path(grants.get(2)));
        client.zk.requests.clear();

        List<RenewResult> results = renew(client.backend, grants);

        assertThat(results.get(2)).isInstanceOf(RenewResult.Lost.class);
        assertThat(List.of(0, 1, 3, 4)).allMatch(i -> results.get(i).equals(new RenewResult.Renewed(40_000)));
        assertThat(client.zk.requests("multi")).containsExactly("multi " + LocalClient.path(fresh));
        client.zk.fail("multi", LocalZooKeeper.Fault.ANSWER_LOST);
        assertThat(renew(client.backend, List.of(grants.get(0), grants.get(1), fresh)))
                .hasOnlyElementsOfType(RenewResult.Unknown.class);
    }

    /** The answer contains the missing node; the others are checked by another request. */
    @Test
    void renew_someAreGone_thoseAreLost() {
        List<Grant> grants = new ArrayList<>();
        List<RenewResult> expected = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            Grant grant = acquire("some " + i);
            grants.add(grant);
            expected.add(
                    i % 2 == 0
                            ? new RenewResult.Renewed(40_000)
                            : lost(LossReason.REVOKED, "its node " + LocalClient.path(grant) + " was deleted"));
        }
        List<String> paths = grants.stream().map(LocalClient::path).toList();
        tree.delete(paths.get(1));
        tree.delete(paths.get(3));

        assertThat(renew(client.backend, grants)).isEqualTo(expected);

        assertThat(client.zk.requests("multi"))
                .containsExactly(
                        "multi " + String.join(" ", paths),
                        "multi " + String.join(" ", paths.subList(2, 5)),
                        "multi " + paths.get(4));
        assertThat(release(client.backend, grants.get(1))).isEqualTo(ReleaseResult.NOT_HELD);
    }

    @Test
    void renew_isNoLongerThanTheLease_norThanTheSessionIsCertain() {
        Grant grant = BackendDriver.of(client.backend, "a", 30_000).acquire();
        assertThat(renew(client.backend, grant)).isEqualTo(new RenewResult.Renewed(30_000));
        client.zk.sessionMillis = 300;
        assertThat(renew(client.backend, grant)).isEqualTo(new RenewResult.Renewed(200));
        client.zk.sessionMillis = 0;
        assertThat(renew(client.backend, grant))
                .isEqualTo(new RenewResult.Unknown("the session time-out is not known yet", null));
    }

    @Test
    void renew_withoutAnAnswer_isUnknown_atTheEndOfTheSessionLost() {
        Grant grant = acquire("a");
        client.zk.fail("multi", LocalZooKeeper.Fault.ANSWER_LOST);
        assertThat(renew(client.backend, grant)).isInstanceOfSatisfying(RenewResult.Unknown.class, unknown -> {
            assertThat(unknown.detail())
                    .startsWith("ZooKeeper did not confirm the node: KeeperErrorCode = ConnectionLoss for /b/a/");
            assertThat(unknown.cause()).isInstanceOf(KeeperException.ConnectionLossException.class);
        });
        client.zk.refuse("multi", Code.SESSIONEXPIRED);
        assertThat(renew(client.backend, grant)).isEqualTo(lost(LossReason.SESSION_LOST, "the session has expired"));
        assertThat(release(client.backend, grant)).isEqualTo(ReleaseResult.NOT_HELD);
    }

    @Test
    void renew_inTheNextSession_isLost_andToldOnce() throws Exception {
        Grant grant = acquire("a");
        client.curator.handle = new LocalZooKeeper(tree);
        assertThat(renew(client.backend, grant))
                .isEqualTo(lost(LossReason.SESSION_LOST, "the session was replaced by a new one"));
        assertThat(client.reports)
                .containsExactly("lost " + grant.token() + " SESSION_LOST the session was replaced by a new one");
        client.curator.tell(KeeperState.Expired);
        assertThat(client.reports).hasSize(1);
    }

    /** From its first renewal on; most locks are released before that. */
    @Test
    void node_deletedByAnother_isToldOnceItIsWatched() {
        Grant unwatched = acquire("a");
        tree.delete(LocalClient.path(unwatched));
        assertThat(client.reports).isEmpty();
        BackendDriver driver = client.driver("a");
        Grant grant = driver.acquire();
        String path = LocalClient.path(grant);
        renew(client.backend, grant);

        tree.delete(path);

        assertThat(client.reports)
                .containsExactly("lost " + grant.token() + " REVOKED its node " + path + " was deleted");
        assertThat(renew(client.backend, grant))
                .isEqualTo(lost(LossReason.REVOKED, "its node " + path + " was deleted"));
        assertThat(client.reports).hasSize(1);
        assertThat(driver.acquire().token()).as("begun again").isGreaterThan(grant.token());
    }

    @Test
    void node_deletedByItsRelease_isNoLoss() {
        Grant grant = acquire("a");
        renew(client.backend, grant);
        assertThat(release(client.backend, grant)).isEqualTo(ReleaseResult.RELEASED);
        assertThat(client.reports).isEmpty();
    }

    @Test
    void waiter_whoseNodeIsDeleted_isCalled_andQueuesAgain() {
        acquire("a");
        BackendDriver waiter = client.driver("a");
        waiter.queueUp();
        AtomicInteger calls = new AtomicInteger();
        client.backend.subscribe(waiter.ticket(), calls::incrementAndGet);
        String before = LocalClient.path(waiter);
        tree.delete(before);
        assertThat(calls).hasValue(1);
        client.zk.requests.clear();
        waiter.queueUp();
        assertThat(client.zk.requests.get(0)).as("a new node").startsWith("create EPHEMERAL");
        assertThat(LocalClient.path(waiter)).isNotEqualTo(before);
        assertThat(client.reports).isEmpty();
    }

    @ParameterizedTest
    @EnumSource(
            value = KeeperState.class,
            names = {"Disconnected", "ConnectedReadOnly", "AuthFailed"})
    void connection_lost_holdersAreSuspect(KeeperState state) {
        Grant grant = acquire("a");
        client.driver("a").queueUp();
        assertThat(client.backend.session().isConnected()).isTrue();

        client.curator.tell(state);

        assertThat(client.reports).containsExactly("suspect " + grant.token() + " the connection's state is " + state);
        assertThat(client.backend.session().isConnected()).isFalse();
        client.curator.tell(KeeperState.SyncConnected);
        assertThat(client.backend.session().isConnected()).isTrue();
        assertThat(client.reports).hasSize(1);
        release(client.backend, grant);
        client.curator.tell(state);
        assertThat(client.reports).as("of what is released").hasSize(1);
    }

    @Test
    void session_ends_holdersHaveLost_waitersAreCalled() {
        Grant grant = acquire("a");
        BackendDriver waiter = client.driver("a");
        waiter.queueUp();
        AtomicInteger calls = new AtomicInteger();
        client.backend.subscribe(waiter.ticket(), calls::incrementAndGet);
        client.curator.tell(KeeperState.Expired);
        assertThat(client.reports).as("of a session that goes on").isEmpty();
        client.zk.state = ZooKeeper.States.CLOSED;

        client.curator.tell(KeeperState.Expired);

        assertThat(client.reports)
                .containsExactly("lost " + grant.token() + " SESSION_LOST the server has ended the session: Expired");
        assertThat(calls).hasValue(1);
        client.curator.tell(KeeperState.Expired);
        assertThat(client.reports).hasSize(1);
        assertThat(release(client.backend, grant)).isEqualTo(ReleaseResult.NOT_HELD);
        assertThatThrownBy(() -> client.driver("a").acquire())
                .isInstanceOf(LockUnavailableException.class)
                .hasMessage("the ZooKeeper session has just ended; try again with the next one");
    }

    /** The session would keep it forever. */
    @Test
    void lease_thatIsNotRenewed_endsOnTheServersToo() {
        Grant stays = acquire("stays");
        Grant ends = BackendDriver.of(client.backend, "a", 1).acquire();
        Grant later = BackendDriver.of(client.backend, "later", 30).acquire();
        soon().until(() -> client.queue("a").isEmpty() && client.queue("later").isEmpty());
        assertThat(client.reports)
                .containsExactlyInAnyOrder(
                        "lost " + ends.token() + " EXPIRED its lease ended without a renewal",
                        "lost " + later.token() + " EXPIRED its lease ended without a renewal");
        assertThat(client.queue("stays")).containsExactly(LocalClient.path(stays));
    }

    @ParameterizedTest
    @CsvSource({"list, read its holder", "read, change its limit", "list, list the locks", "delete, remove its node"})
    void failure_saysWhatWasDone(String request, String doing) {
        BackendDriver waiter = client.driver("a");
        acquire("a");
        waiter.queueUp();
        client.zk.fail(request, LocalZooKeeper.Fault.REQUEST_LOST);
        CompletionStage<?> stage = switch (doing) {
            case "read its holder" -> client.backend.holder("a", 1_000);
            case "change its limit" -> client.backend.changeLimit("a", 1, 2, 1_000);
            case "list the locks" -> client.backend.list("", 10, 1_000);
            default -> client.backend.abandon(waiter.acquisition(), 1_000);
        };
        assertThatThrownBy(() -> answer(stage))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageStartingWith("ZooKeeper failed to " + doing + ": CONNECTIONLOSS at /b");
        client.zk.heal();
    }

    @Test
    void examination_withoutAConfiguration_saysSo() {
        assertThat(answer(client.backend.examine(1_000)))
                .containsExactly(
                        StoreFinding.ok(
                                "the servers grant a session of 60000 ms: after a crash a lock is free when that"
                                        + " has passed"),
                        StoreFinding.ok("the ensemble's configuration cannot be read, which locks do not need"));
        assertThat(EnsembleExamination.servers("server.1=a:2888:3888:participant\nversion=100000000"))
                .isEqualTo(StoreFinding.warning(
                        "servers that vote: 1; while one is down there are no locks",
                        "run three: list them as server.N in zoo.cfg"));
        assertThat(EnsembleExamination.servers("")).isEqualTo(EnsembleExamination.servers("server.1=a"));
        assertThat(EnsembleExamination.servers(
                        "server.1=a\nserver.2=b:1:2:observer\nserver.3=c\nserver.4=d\nx=server.5"))
                .isEqualTo(StoreFinding.ok("servers that vote: 3"));
        assertThat(EnsembleExamination.servers("server.1=a\nserver.2=b").observation())
                .startsWith("servers that vote: 2;");
    }

    /** Closed by the application before the lock client. */
    @Test
    void framework_wasClosed_isSaid() throws Exception {
        try (LocalClient borrowed = new LocalClient(tree, false)) {
            borrowed.curator.state = CuratorFrameworkState.STOPPED;
            assertThatThrownBy(() -> BackendDriver.holder(borrowed.backend, "a"))
                    .isInstanceOf(LockClosedException.class)
                    .hasMessage("the CuratorFramework was closed before the lock client; close the lock client first");
        }
        client.curator.state = CuratorFrameworkState.STOPPED;
        assertThat(BackendDriver.holder(client.backend, "a")).as("its own").isEmpty();
    }
}
