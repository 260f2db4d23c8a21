package dev.holdfast.lock.zookeeper.internal.session;

import static dev.holdfast.lock.zookeeper.ZooKeeperFixture.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.spi.support.FailureTranslator;
import dev.holdfast.lock.zookeeper.LocalTree;
import dev.holdfast.lock.zookeeper.LocalZooKeeper;
import dev.holdfast.lock.zookeeper.UnsentZooKeeper;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The time from which a session is certain to live. No server. */
class SessionTest {
    private static final long SLOW_MILLIS = 20;

    /** The last sign of life may be the sending of the write, long before its answer. */
    @ParameterizedTest
    @ValueSource(strings = {"create", "delete", "confirm"})
    void acknowledgedAge_countsFromTheSending(String write) throws Exception {
        UnsentZooKeeper zk = new UnsentZooKeeper();
        Session session = new Session(zk, false);
        zk.hold();
        switch (write) {
            case "create" ->
                StageHelpers.ignore(session.create(
                        "/a", new byte[0], ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL_SEQUENTIAL));
            case "delete" -> StageHelpers.ignore(session.delete("/a"));
            default -> StageHelpers.ignore(session.confirm(List.of("/a")));
        }
        long sentNanos = System.nanoTime();
        await().atMost(PATIENCE)
                .pollInterval(Duration.ofMillis(1))
                .until(() -> System.nanoTime() - sentNanos > TimeUnit.MILLISECONDS.toNanos(SLOW_MILLIS));
        assertThat(session.acknowledgedAgeMillis()).as("without an answer").isEqualTo(Long.MAX_VALUE);

        zk.answerAll();

        assertThat(session.acknowledgedAgeMillis()).isBetween(SLOW_MILLIS, Long.MAX_VALUE - 1);
    }

    private final LocalTree tree = new LocalTree();

    private static Code code(CompletableFuture<?> reply) {
        assertThat(reply).isCompletedExceptionally();
        return failure(reply).code();
    }

    private static KeeperException failure(CompletableFuture<?> reply) {
        return (KeeperException) FailureTranslator.unwrap(
                reply.handle((value, failure) -> failure).join());
    }

    /** A read proves nothing, and neither does a refusal that a single server made. */
    @Test
    void acknowledged_byWritesAlone() throws Exception {
        LocalZooKeeper zk = new LocalZooKeeper(tree);
        Session session = new Session(zk, false);
        session.sync("/").join();
        session.watchAll("/", event -> {}).join();
        assertThat(code(session.exists("/a"))).isEqualTo(Code.NONODE);
        assertThat(code(session.data("/a"))).isEqualTo(Code.NONODE);
        assertThat(code(session.children("/a"))).isEqualTo(Code.NONODE);
        assertThat(code(session.delete("/a"))).isEqualTo(Code.NONODE);
        assertThat(code(session.create("/a/b", new byte[0], ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT)))
                .isEqualTo(Code.NONODE);
        zk.refuse("multi", Code.NOAUTH);
        CompletableFuture<Integer> refused = session.confirm(List.of("/a", "/b"));
        assertThat(code(refused)).isEqualTo(Code.NOAUTH);
        assertThat(failure(refused).getPath()).isEqualTo("/a");
        assertThat(session.acknowledgedAgeMillis()).isEqualTo(Long.MAX_VALUE);
        zk.heal();

        assertThat(session.confirm(List.of("/a"))).isCompletedWithValue(0);

        assertThat(session.acknowledgedAgeMillis()).as("a quorum has looked").isLessThan(Long.MAX_VALUE);
    }

    @Test
    void confirm_tellsTheFirstThatIsNotThere() throws Exception {
        Session session = new Session(new LocalZooKeeper(tree), false);
        for (String path : List.of("/a", "/b", "/c")) {
            session.create(path, new byte[0], ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT)
                    .join();
        }
        assertThat(session.confirm(List.of("/a", "/b", "/c"))).isCompletedWithValue(3);
        assertThat(session.confirm(List.of("/a", "/x", "/y"))).isCompletedWithValue(1);
        assertThat(session.transact(List.of(Op.check("/a", -1), Op.setData("/b", new byte[0], 7))))
                .isCompletedWithValue(1);
        assertThat(session.transact(List.of(Op.setData("/b", new byte[] {1}, 0))))
                .isCompletedWithValue(1);
        Session.Data data = session.data("/b").join();
        assertThat(data.bytes()).containsExactly(1);
        assertThat(data.stat().getVersion()).isEqualTo(1);
    }

    /** A node may have no data. */
    @Test
    void data_ofNothing_isEmpty() throws Exception {
        Session session = new Session(new LocalZooKeeper(tree), false);
        tree.create("/a", null, ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT, 0);
        assertThat(session.data("/a").join().bytes()).isEmpty();
    }

    /** The latest of several writes counts, in whatever order they are answered. */
    @Test
    void acknowledgedAge_isThatOfTheLatestWrite() throws Exception {
        UnsentZooKeeper zk = new UnsentZooKeeper();
        Session session = new Session(zk, false);
        zk.hold();
        StageHelpers.ignore(session.delete("/early"));
        long sentNanos = System.nanoTime();
        while (System.nanoTime() - sentNanos < TimeUnit.MILLISECONDS.toNanos(SLOW_MILLIS)) {
            Thread.onSpinWait();
        }
        long lateNanos = System.nanoTime();
        StageHelpers.ignore(session.delete("/late"));

        zk.answerAll();
        long ageMillis = session.acknowledgedAgeMillis();

        assertThat(ageMillis).isPositive();
        assertThat(ageMillis - 1).isLessThanOrEqualTo(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - lateNanos));
    }

    @Test
    void certainty_isTwoThirdsOfTheTimeOut() throws Exception {
        LocalZooKeeper zk = new LocalZooKeeper(tree);
        Session session = new Session(zk, false);
        zk.sessionMillis = 10_000;
        assertThat(session.certainMillis()).isEqualTo(6_666);
        assertThat(session.timeoutMillis()).isEqualTo(10_000);
        zk.sessionMillis = Integer.MAX_VALUE;
        assertThat(session.certainMillis()).isEqualTo(Integer.MAX_VALUE * 2L / 3);
        assertThat(session.id()).isEqualTo(zk.getSessionId());
    }

    /** A server without a quorum does not count as connected, and neither does a handle without a connection event. */
    @Test
    void state_isTheHandles_andWhatWasTold() throws Exception {
        LocalZooKeeper zk = new LocalZooKeeper(tree);
        zk.state = ZooKeeper.States.CONNECTING;
        Session later = new Session(zk, false);
        zk.state = ZooKeeper.States.CONNECTED;
        assertThat(later.isConnected()).isFalse();
        later.connected(true);
        assertThat(later.isConnected()).isTrue();
        zk.state = ZooKeeper.States.CONNECTEDREADONLY;
        assertThat(later.isConnected()).isFalse();
        assertThat(later.isAlive()).isTrue();
        zk.state = ZooKeeper.States.AUTH_FAILED;
        assertThat(later.isAlive()).isFalse();
        zk.state = ZooKeeper.States.CONNECTED;
        assertThat(later.isAlive()).isTrue();
        assertThat(later.end()).isTrue();
        assertThat(later.isAlive()).isFalse();
        assertThat(later.isConnected()).isFalse();
        assertThat(later.end()).as("its first end").isFalse();
    }
}
