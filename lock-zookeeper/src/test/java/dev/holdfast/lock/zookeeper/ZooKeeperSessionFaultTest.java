package dev.holdfast.lock.zookeeper;

import static dev.holdfast.lock.testkit.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.BackendDriver.answer;
import static dev.holdfast.lock.testkit.BackendDriver.release;
import static dev.holdfast.lock.testkit.BackendDriver.renew;
import static dev.holdfast.lock.zookeeper.ZooKeeperFixture.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.BackendDriver;
import dev.holdfast.lock.testkit.server.Direction;
import dev.holdfast.lock.testkit.server.FaultProxy;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** One server; sessions and replies are lost. */
class ZooKeeperSessionFaultTest {

    private static ZooKeeperFixture fixture;
    private ZooKeeperLockBackend first;
    private ZooKeeperLockBackend second;
    private RecordingListener listener;

    @BeforeAll
    static void startServer() throws Exception {
        fixture = ZooKeeperFixture.single();
    }

    @AfterAll
    static void stopServer() {
        fixture.close();
    }

    @BeforeEach
    void connect() {
        first = fixture.newBackend(ZooKeeperFixture.SESSION_MILLIS);
        second = fixture.newBackend(ZooKeeperFixture.SESSION_MILLIS);
        listener = RecordingListener.of(first);
    }

    @AfterEach
    void disconnect() {
        fixture.heal();
        first.close();
        second.close();
    }

    private static FaultProxy proxy() {
        return fixture.proxies().get(0);
    }

    @Test
    @DisplayName(
            "A session that the server ends while it holds is reported once, and its next grant has a higher token")
    void expired_midHold_lostOnce() throws Exception {
        Grant grant = acquire(first, "mid-hold");

        Faults.expireByServer(fixture, first);

        await().atMost(PATIENCE).until(() -> !listener.lost.isEmpty());
        assertThat(renew(first, grant))
                .isInstanceOfSatisfying(
                        RenewResult.Lost.class,
                        lost -> assertThat(lost.reason()).isEqualTo(LossReason.SESSION_LOST));
        assertThat(release(first, grant)).isEqualTo(ReleaseResult.NOT_HELD);
        assertThat(acquire(second, "mid-hold").token()).isGreaterThan(grant.token());
        assertThat(listener.lost).containsExactly(grant.token() + " SESSION_LOST");
    }

    @Test
    @DisplayName("A session that ends while it waits is woken, queues again and is granted")
    void expired_midWait_queuesAnew() throws Exception {
        Grant grant = acquire(second, "mid-wait");
        BackendDriver waiter = BackendDriver.of(first, "mid-wait");
        AtomicInteger calls = new AtomicInteger();
        waiter.queueUp();
        first.subscribe(waiter.ticket(), calls::incrementAndGet);

        Faults.expireByServer(fixture, first);
        await().atMost(PATIENCE).until(() -> calls.get() > 0);
        await().atMost(PATIENCE)
                .ignoreExceptionsInstanceOf(LockUnavailableException.class)
                .until(() -> waiter.tryAcquire(BackendDriver.WAIT_MILLIS) instanceof AcquireResult.Busy);
        assertThat(fixture.entries("mid-wait")).isEqualTo(2);

        release(second, grant);
        Grant next = waiter.awaitThroughFailures(PATIENCE);
        assertThat(next.token()).isGreaterThan(grant.token());
        assertThat(renew(first, next)).isInstanceOf(RenewResult.Renewed.class);
        release(first, next);
        assertThat(fixture.entries("mid-wait")).isZero();
    }

    @Test
    @DisplayName("CURATOR-604: a new session is not granted on the node of the one before")
    void dyingSession_itsNodeIsNotTakenOver() throws Exception {
        BackendDriver holder = BackendDriver.of(first, "604");
        Grant grant = holder.acquire();
        BackendDriver waiter = BackendDriver.of(first, "604");
        waiter.queueUp();

        proxy().hold(Direction.TO_SERVER);
        Faults.expireByClient(first);
        await().atMost(PATIENCE).until(() -> listener.lost.size() == 1);
        proxy().resetAll();
        proxy().pass();

        // Even if the server has not noticed yet, no client holds by a node of the old session.
        Grant next = waiter.awaitThroughFailures(PATIENCE);
        assertThat(next.token()).isGreaterThan(grant.token());
        ZooKeeperAcquisition node = (ZooKeeperAcquisition) next.handle();
        assertThat(fixture.administrator().exists(node.lockNode.path(), false).getEphemeralOwner())
                .isEqualTo(first.session().id());
        assertThat(fixture.queue("604").get(0).name()).isEqualTo(node.lockNode.child());
        assertThat(listener.lost).containsExactly(grant.token() + " SESSION_LOST");
    }

    @Test
    @DisplayName("CURATOR-604: the holder's own node of the old session blocks it like any other node until it is gone")
    void dyingSession_oldNodeStillThere_isBusy() throws Exception {
        acquire(first, "604 holder");
        Session old = first.session();
        proxy().blackHole(Direction.TO_SERVER);
        Faults.expireByClient(first);
        await().atMost(PATIENCE).until(() -> listener.lost.size() == 1);
        assertThat(fixture.entries("604 holder")).isEqualTo(1);
        proxy().pass();

        BackendDriver again = BackendDriver.of(first, "604 holder");
        Grant next = again.awaitThroughFailures(PATIENCE);

        assertThat(first.session()).isNotSameAs(old);
        assertThat(fixture.entries("604 holder")).isEqualTo(1);
        assertThat(renew(first, next)).isInstanceOf(RenewResult.Renewed.class);
    }

    @Test
    @DisplayName("CURATOR-678: a release whose request is lost deletes the node after the reconnection")
    void release_requestLost_deletedAfterReconnection() throws Exception {
        Grant grant = acquire(first, "678");
        proxy().cut();

        assertThatThrownBy(() -> release(first, grant)).isInstanceOf(LockUnavailableException.class);
        assertThat(fixture.entries("678")).isEqualTo(1);
        proxy().pass();

        await().atMost(PATIENCE).until(() -> fixture.entries("678") == 0);
        acquire(second, "678");
    }

    @Test
    @DisplayName("CURATOR-678: a release whose reply is lost may be repeated, leaves no node, and is no loss")
    void release_replyLost_repeatable() throws Exception {
        Grant grant = acquire(first, "678 reply");
        proxy().dropRepliesAfter(0);
        CompletionStage<ReleaseResult> lost = first.release(grant, 1_000);
        assertThat(proxy().awaitDropped(PATIENCE)).isTrue();
        proxy().pass();
        proxy().resetAll();
        assertThatThrownBy(() -> answer(lost)).isInstanceOf(LockUnavailableException.class);

        // Either answer is correct: the repetition in the background may have removed the node already.
        await().atMost(PATIENCE)
                .ignoreExceptionsInstanceOf(LockUnavailableException.class)
                .until(() -> release(first, grant), answer -> true);
        assertThat(fixture.entries("678 reply")).isZero();
        assertThat(listener.lost).isEmpty();
    }

    @Test
    @DisplayName("A creation whose reply is lost is found again: same node, one entry")
    void attempt_replyLost_foundAgain() throws Exception {
        release(first, acquire(first, "lost reply"));
        BackendDriver driver = BackendDriver.of(first, "lost reply");
        proxy().dropRepliesAfter(0);
        CompletionStage<AcquireResult> lost = driver.send(0);
        assertThat(proxy().awaitDropped(PATIENCE)).isTrue();
        await().atMost(PATIENCE).until(() -> fixture.entries("lost reply") == 1);
        String node = fixture.queue("lost reply").get(0).name();
        proxy().pass();
        proxy().resetAll();
        assertThatThrownBy(() -> answer(lost)).isInstanceOf(LockUnavailableException.class);

        Grant grant = driver.awaitThroughFailures(PATIENCE);

        assertThat(((ZooKeeperAcquisition) grant.handle()).lockNode.child()).isEqualTo(node);
        assertThat(fixture.entries("lost reply")).isEqualTo(1);
        release(first, grant);
        assertThat(fixture.entries("lost reply")).isZero();
    }

    @Test
    @DisplayName("A creation whose reply is lost is found again behind an older node of its owner, of a dying session")
    void attempt_replyLost_olderNodeOfAnotherSession_foundAgain() throws Exception {
        release(first, acquire(first, "older"));
        fixture.keep("older");
        BackendDriver driver = BackendDriver.of(first, "older");
        String old = fixture.administrator()
                .create(
                        ZooKeeperFixture.parent("older") + "/"
                                + SequentialNode.prefix(driver.acquisition().owner()),
                        new byte[0],
                        org.apache.zookeeper.ZooDefs.Ids.OPEN_ACL_UNSAFE,
                        org.apache.zookeeper.CreateMode.EPHEMERAL_SEQUENTIAL);
        proxy().dropRepliesAfter(0);
        CompletionStage<AcquireResult> lost = driver.send(BackendDriver.WAIT_MILLIS);
        assertThat(proxy().awaitDropped(PATIENCE)).isTrue();
        await().atMost(PATIENCE).until(() -> fixture.entries("older") == 2);
        String node = fixture.queue("older").get(1).name();
        proxy().pass();
        proxy().resetAll();
        assertThatThrownBy(() -> answer(lost)).isInstanceOf(LockUnavailableException.class);

        await().atMost(PATIENCE)
                .ignoreExceptionsInstanceOf(LockUnavailableException.class)
                .until(() -> driver.tryAcquire(BackendDriver.WAIT_MILLIS) instanceof AcquireResult.Busy);
        assertThat(fixture.entries("older")).isEqualTo(2);
        fixture.administrator().delete(old, -1);
        Grant grant = driver.awaitThroughFailures(PATIENCE);

        assertThat(((ZooKeeperAcquisition) grant.handle()).lockNode.child()).isEqualTo(node);
        assertThat(fixture.entries("older")).isEqualTo(1);
        release(first, grant);
        assertThat(fixture.entries("older")).isZero();
    }

    @Test
    @DisplayName("A creation that was repeated leaves one node: the others would block their own owner")
    void attempt_replyLost_twoNodesOfItsOwn_keepsOne() throws Exception {
        release(first, acquire(first, "two nodes"));
        fixture.keep("two nodes");
        BackendDriver driver = BackendDriver.of(first, "two nodes");
        proxy().dropRepliesAfter(0);
        CompletionStage<AcquireResult> lost = driver.send(0);
        assertThat(proxy().awaitDropped(PATIENCE)).isTrue();
        await().atMost(PATIENCE).until(() -> fixture.entries("two nodes") == 1);
        String node = fixture.queue("two nodes").get(0).name();
        proxy().pass();
        proxy().resetAll();
        assertThatThrownBy(() -> answer(lost)).isInstanceOf(LockUnavailableException.class);
        String prefix = ZooKeeperFixture.parent("two nodes") + "/" + SequentialNode.prefix(driver.acquisition());
        await().atMost(PATIENCE)
                .ignoreExceptions()
                .until(() -> first.session()
                        .create(
                                prefix,
                                new byte[0],
                                org.apache.zookeeper.ZooDefs.Ids.OPEN_ACL_UNSAFE,
                                org.apache.zookeeper.CreateMode.EPHEMERAL_SEQUENTIAL)
                        .get(10, TimeUnit.SECONDS)
                        .path()
                        .startsWith(prefix));
        assertThat(fixture.entries("two nodes")).isGreaterThan(1);

        Grant grant = driver.awaitThroughFailures(PATIENCE);

        assertThat(((ZooKeeperAcquisition) grant.handle()).lockNode.child()).isEqualTo(node);
        assertThat(fixture.entries("two nodes")).isEqualTo(1);
        release(first, grant);
        assertThat(fixture.entries("two nodes")).isZero();
    }

    @Test
    @DisplayName("Of several leases that are not renewed each ends on the server, not the first one alone")
    void leases_notRenewed_allEndOnTheServer() {
        for (int i = 1; i <= 3; i++) {
            acquire(first, "not renewed " + i, i * 600);
        }
        Session session = first.session();
        for (int i = 1; i <= 3; i++) {
            String name = "not renewed " + i;
            await().atMost(PATIENCE).until(() -> fixture.entries(name) == 0);
        }
        assertThat(first.session()).isSameAs(session);
    }

    @Test
    @DisplayName("A waiter that subscribes while the connection is lost is notified after the reconnection")
    void signal_subscribedWhileCutOff_calls() throws Exception {
        try (ZooKeeperLockBackend direct = fixture.directBackend()) {
            Grant grant = acquire(direct, "late watch");
            BackendDriver waiter = BackendDriver.of(first, "late watch");
            waiter.queueUp();
            AtomicInteger calls = new AtomicInteger();
            proxy().cut();
            await().atMost(PATIENCE).until(() -> !first.session().isConnected());
            first.subscribe(waiter.ticket(), calls::incrementAndGet);
            // Sent behind the watches: when this one has failed, they have.
            assertThatThrownBy(() -> BackendDriver.holder(first, "late watch"))
                    .isInstanceOf(LockUnavailableException.class);
            release(direct, grant);

            proxy().pass();

            await().atMost(PATIENCE).until(() -> calls.get() > 0);
            assertThat(waiter.awaitThroughFailures(PATIENCE).token()).isGreaterThan(grant.token());
        }
    }

    @Test
    @DisplayName(
            "A creation whose reply is lost and that is abandoned while cut off leaves nothing after the reconnection")
    void abandon_replyLost_leavesNothing() throws Exception {
        release(first, acquire(first, "abandoned"));
        BackendDriver driver = BackendDriver.of(first, "abandoned");
        proxy().dropRepliesAfter(0);
        CompletionStage<AcquireResult> lost = driver.send(BackendDriver.WAIT_MILLIS);
        assertThat(proxy().awaitDropped(PATIENCE)).isTrue();
        await().atMost(PATIENCE).until(() -> fixture.entries("abandoned") == 1);
        proxy().cut();
        assertThatThrownBy(() -> answer(lost)).isInstanceOf(LockUnavailableException.class);
        assertThatThrownBy(driver::abandon).isInstanceOf(LockUnavailableException.class);
        assertThat(fixture.entries("abandoned")).isEqualTo(1);

        proxy().pass();

        await().atMost(PATIENCE).until(() -> fixture.entries("abandoned") == 0);
    }

    @Test
    @DisplayName("A lost connection makes the grant suspect at once, and a renewal after the reconnection confirms it")
    void suspended_thenReconnected_renewed() throws Exception {
        Grant grant = acquire(first, "suspect");

        proxy().cut();
        await().atMost(PATIENCE).until(() -> listener.suspected.contains(grant.token()));
        assertThat(renew(first, grant)).isInstanceOf(RenewResult.Unknown.class);
        proxy().pass();

        await().atMost(PATIENCE).until(() -> renew(first, grant) instanceof RenewResult.Renewed);
        assertThat(listener.lost).isEmpty();
        release(first, grant);
    }

    @Test
    @DisplayName("A deleted node of a grant that was renewed is reported immediately, once, with its reason")
    void deleted_midHold_lostOnce() throws Exception {
        Grant grant = acquire(first, "deleted");
        ZooKeeperAcquisition node = (ZooKeeperAcquisition) grant.handle();
        assertThat(renew(first, grant)).isInstanceOf(RenewResult.Renewed.class);
        await().atMost(PATIENCE).until(() -> first.session().watches().isArmed(node.lockNode.path()));

        fixture.expire("deleted");

        await().atMost(PATIENCE).until(() -> !listener.lost.isEmpty());
        assertThat(renew(first, grant)).isInstanceOf(RenewResult.Lost.class);
        assertThat(release(first, grant)).isEqualTo(ReleaseResult.NOT_HELD);
        assertThat(listener.lost).containsExactly(grant.token() + " REVOKED");
    }

    @Test
    @DisplayName("Of several grants that are renewed together, the one whose node was deleted is lost and no other")
    void deleted_midHold_ofSeveral_onlyThatOneIsLost() throws Exception {
        List<Grant> grants =
                List.of(acquire(first, "several 1"), acquire(first, "several 2"), acquire(first, "several 3"));
        fixture.expire("several 2");

        assertThat(renew(first, grants))
                .extracting(Object::getClass)
                .containsExactly(RenewResult.Renewed.class, RenewResult.Lost.class, RenewResult.Renewed.class);

        assertThat(release(first, grants.get(0))).isEqualTo(ReleaseResult.RELEASED);
        assertThat(release(first, grants.get(1))).isEqualTo(ReleaseResult.NOT_HELD);
        assertThat(release(first, grants.get(2))).isEqualTo(ReleaseResult.RELEASED);
    }

    @Test
    @DisplayName("A holder whose node was deleted is not granted the lock again on that node, though it asks")
    void deleted_midHold_repeatedAttempt_isNotGranted() throws Exception {
        BackendDriver holder = BackendDriver.of(first, "deleted, asked");
        holder.acquire();
        fixture.expire("deleted, asked");
        Grant grant = acquire(second, "deleted, asked");

        Object answer;
        try {
            answer = holder.tryAcquire(0);
        } catch (LockUnavailableException e) {
            answer = e;
        }

        assertThat(answer).isNotInstanceOf(AcquireResult.Granted.class);
        assertThat(renew(second, grant)).isInstanceOf(RenewResult.Renewed.class);
        release(second, grant);
    }

    @Test
    @DisplayName("A waiter whose own node is deleted is woken and queues again")
    void deleted_midWait_queuesAnew() throws Exception {
        Grant grant = acquire(second, "deleted waiter");
        BackendDriver waiter = BackendDriver.of(first, "deleted waiter");
        AtomicInteger calls = new AtomicInteger();
        waiter.queueUp();
        first.subscribe(waiter.ticket(), calls::incrementAndGet);

        fixture.administrator().delete(((ZooKeeperAcquisition) waiter.ticket()).lockNode.path(), -1);
        await().atMost(PATIENCE).until(() -> calls.get() > 0);
        waiter.queueUp();
        assertThat(fixture.entries("deleted waiter")).isEqualTo(2);

        release(second, grant);
        assertThat(waiter.awaitThroughFailures(PATIENCE).token()).isGreaterThan(grant.token());
    }

    @Test
    @DisplayName("A wake-up that happens while the connection is lost is made up for after the reconnection")
    void signal_predecessorGoneWhileCutOff_calls() throws Exception {
        try (ZooKeeperLockBackend direct = fixture.directBackend()) {
            Grant grant = acquire(direct, "missed");
            BackendDriver waiter = BackendDriver.of(first, "missed");
            AtomicInteger calls = new AtomicInteger();
            waiter.queueUp();
            first.subscribe(waiter.ticket(), calls::incrementAndGet);
            await().atMost(PATIENCE)
                    .until(() -> first.session()
                            .watches()
                            .isArmed(((ZooKeeperAcquisition) waiter.ticket()).predecessor.path()));

            proxy().cut();
            release(direct, grant);
            proxy().pass();

            await().atMost(PATIENCE).until(() -> calls.get() > 0);
            assertThat(waiter.awaitThroughFailures(PATIENCE).token()).isGreaterThan(grant.token());
        }
    }
}
