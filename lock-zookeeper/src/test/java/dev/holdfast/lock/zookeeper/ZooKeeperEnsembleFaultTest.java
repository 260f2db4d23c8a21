package dev.holdfast.lock.zookeeper;

import static dev.holdfast.lock.testkit.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.BackendDriver.answer;
import static dev.holdfast.lock.testkit.BackendDriver.release;
import static dev.holdfast.lock.testkit.BackendDriver.renew;
import static dev.holdfast.lock.zookeeper.ZooKeeperFixture.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.BackendDriver;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Three servers; the leader dies, all die, one is cut off. */
class ZooKeeperEnsembleFaultTest {

    private static final int SESSION_MILLIS = 30_000;
    private static ZooKeeperFixture fixture;
    private ZooKeeperLockBackend first;
    private ZooKeeperLockBackend second;
    private RecordingListener listener;

    @BeforeAll
    static void startServers() throws Exception {
        fixture = ZooKeeperFixture.ensemble();
    }

    @AfterAll
    static void stopServers() {
        fixture.close();
    }

    @BeforeEach
    void connect() {
        first = fixture.newBackend(SESSION_MILLIS);
        second = fixture.newBackend(SESSION_MILLIS);
        listener = RecordingListener.of(first);
    }

    @AfterEach
    void disconnect() {
        first.close();
        second.close();
    }

    @Test
    @DisplayName("A killed leader ends no grant, and the waiter is granted with a higher token")
    void leaderKilled_grantsSurvive() throws Exception {
        Grant grant = acquire(first, "leader");
        BackendDriver waiter = BackendDriver.of(second, "leader");
        AtomicInteger calls = new AtomicInteger();
        waiter.queueUp();
        second.subscribe(waiter.ticket(), calls::incrementAndGet);

        int leader = fixture.server().leader();
        fixture.server().node(leader).kill();

        awaitRenewed(grant);
        assertThat(fixture.server().leader()).isNotEqualTo(leader);
        await().atMost(PATIENCE)
                .ignoreExceptionsInstanceOf(dev.holdfast.lock.LockUnavailableException.class)
                .until(() -> waiter.tryAcquire(BackendDriver.WAIT_MILLIS) instanceof AcquireResult.Busy);
        second.subscribe(waiter.ticket(), calls::incrementAndGet);
        release(first, grant);
        await().atMost(PATIENCE).until(() -> calls.get() > 0);
        Grant next = waiter.awaitThroughFailures(PATIENCE);
        assertThat(next.token()).isGreaterThan(grant.token());
        release(second, next);
        assertThat(listener.lost).isEmpty();

        fixture.server().node(leader).start();
        fixture.server().awaitServing();
    }

    @Test
    @DisplayName("A restart of the whole ensemble within the session ends no grant, and tokens keep increasing")
    void ensembleRestarted_grantsSurvive() throws Exception {
        Grant grant = acquire(first, "restart");

        fixture.restart();

        awaitRenewed(grant);
        assertThat(BackendDriver.of(second, "restart").tryAcquire(0)).isInstanceOf(AcquireResult.Busy.class);
        release(first, grant);
        Grant next = BackendDriver.of(second, "restart").awaitThroughFailures(PATIENCE);
        assertThat(next.token()).isGreaterThan(grant.token());
        assertThat(next.token() >>> 32).as("epoch").isGreaterThan(grant.token() >>> 32);
        release(second, next);
        assertThat(listener.lost).isEmpty();
    }

    @Test
    @DisplayName("A server cut off from the leader confirms nothing, though it answers reads")
    void followersPaused_nothingIsConfirmed() throws Exception {
        int leader = fixture.server().leader();
        try (ZooKeeperLockBackend atLeader = fixture.backendAt(leader, SESSION_MILLIS)) {
            Grant grant = acquire(atLeader, "no quorum");
            for (int i = 0; i < 3; i++) {
                if (i != leader) {
                    fixture.server().node(i).pause();
                }
            }
            try {
                // The leader still answers the read, but cannot have a quorum confirm the write.
                assertThat(answer(atLeader.session().exists(((ZooKeeperAcquisition) grant.handle()).lockNode.path())))
                        .isNotNull();
                assertThat(renew(atLeader, grant)).isInstanceOf(RenewResult.Unknown.class);
            } finally {
                for (int i = 0; i < 3; i++) {
                    if (i != leader) {
                        fixture.server().node(i).resume();
                    }
                }
            }
            fixture.server().awaitServing();
            await().atMost(PATIENCE).until(() -> renew(atLeader, grant) instanceof RenewResult.Renewed);
            release(atLeader, grant);
        }
    }

    private void awaitRenewed(Grant grant) {
        await().atMost(PATIENCE).until(() -> {
            RenewResult result = renew(first, grant);
            assertThat(result).isNotInstanceOf(RenewResult.Lost.class);
            return result instanceof RenewResult.Renewed;
        });
    }
}
