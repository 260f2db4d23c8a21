package dev.holdfast.lock.zookeeper.internal.session;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.zookeeper.UnsentZooKeeper;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher.Event.EventType;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.client.ZKClientConfig;
import org.junit.jupiter.api.Test;

/** Watches that are set, missed, refused and removed. No server. */
class DeletionWatchesTest {
    private final UnsentZooKeeper zk = new UnsentZooKeeper();
    private final Session session = new Session(zk, false);

    DeletionWatchesTest() throws IOException {}

    private static WatchedEvent deleted(String path) {
        return new WatchedEvent(EventType.NodeDeleted, KeeperState.SyncConnected, path);
    }

    @Test
    void deletion_nodeThatIsGoneAlready_isReported_andForgotten() {
        AtomicInteger calls = new AtomicInteger();
        zk.answer("watch /gone", Code.NONODE);

        session.watches().watch("/gone", calls::incrementAndGet);

        assertThat(calls).hasValue(1);
        assertThat(session.watches().size()).isZero();
    }

    @Test
    void deletion_isReportedOnce_andForgotten() {
        AtomicInteger calls = new AtomicInteger();
        session.watches().watch("/a", calls::incrementAndGet);
        session.watches().watch("/a", calls::incrementAndGet).close();
        assertThat(session.watches().isArmed("/a")).isTrue();

        zk.watchers.get("/a").process(deleted("/a"));
        zk.watchers.get("/a").process(deleted("/a"));

        assertThat(calls).hasValue(1);
        assertThat(session.watches().size()).isZero();
        assertThat(zk.requests).containsExactly("watch /a");
    }

    @Test
    void deletion_watchWithoutAnAnswer_isSetAfterAReconnection() {
        zk.answer("watch /a", Code.CONNECTIONLOSS);
        session.watches().watch("/a", () -> {});
        assertThat(session.watches().isArmed("/a")).isFalse();

        zk.answer("watch /a", Code.OK);
        session.watches().rearm();

        assertThat(session.watches().isArmed("/a")).isTrue();
    }

    private static WatchedEvent event(EventType type, String path) {
        return new WatchedEvent(type, KeeperState.SyncConnected, path);
    }

    /**
     * All waiters of a path share one watch. A waiter that has left is not called, and the next one needs no request.
     */
    @Test
    void deletion_isToldToAllWhoAreStillThere() {
        AtomicInteger calls = new AtomicInteger();
        AtomicInteger left = new AtomicInteger();
        session.watches().watch("/a", calls::incrementAndGet);
        session.watches().watch("/a", left::incrementAndGet).close();
        session.watches().watch("/a", calls::incrementAndGet);
        session.watches().watch("/b", left::incrementAndGet);
        assertThat(session.watches().size()).isEqualTo(2);

        zk.watchers.get("/a").process(deleted("/a"));

        assertThat(calls).hasValue(2);
        assertThat(left).hasValue(0);
        assertThat(session.watches().isArmed("/a")).isFalse();
        assertThat(session.watches().isArmed("/b")).isTrue();
        assertThat(zk.requests).containsExactly("watch /a", "watch /b");
    }

    /** A foreign node gets children, or another program removes the watch. */
    @Test
    void watch_thatHasFiredForNothing_isSetAgain() {
        session.watches().watch("/a", () -> {});
        zk.answer("watch /a", Code.CONNECTIONLOSS);
        zk.watchers.get("/a").process(event(EventType.NodeChildrenChanged, "/a"));
        assertThat(session.watches().isArmed("/a")).isFalse();
        zk.answer("watch /a", Code.OK);
        zk.watchers.get("/a").process(event(EventType.ChildWatchRemoved, "/a"));
        assertThat(session.watches().isArmed("/a")).isTrue();
        zk.watchers.get("/a").process(new WatchedEvent(EventType.None, KeeperState.Disconnected, null));
        assertThat(session.watches().isArmed("/a")).isTrue();
        assertThat(zk.requests).hasSize(3);
    }

    @Test
    void watch_beforeItsAnswer_isNotArmed_andNotSetTwice() {
        zk.hold();
        session.watches().watch("/a", () -> {});
        session.watches().watch("/a", () -> {});
        session.watches().rearm();
        assertThat(session.watches().isArmed("/a")).isFalse();
        zk.answerAll();
        assertThat(session.watches().isArmed("/a")).isTrue();
        assertThat(session.watches().isArmed("/b")).isFalse();
        assertThat(zk.requests).containsExactly("watch /a");
    }

    /** No waiter is left, so the watch would stay forever. */
    @Test
    void watch_withoutAnAnswerAndAListener_isForgottenAfterAReconnection() {
        zk.answer("watch /a", Code.CONNECTIONLOSS);
        session.watches().watch("/a", () -> {}).close();
        session.watches().watch("/b", () -> {}).close();
        session.watches().rearm();
        assertThat(session.watches().size()).as("the one that is set stays").isEqualTo(1);
        assertThat(zk.requests).containsExactly("watch /a", "watch /b");
    }

    /** It ends with its connection, without an event. */
    @Test
    void watch_thatTheClientDoesNotSetAgain_isNotArmed() {
        session.watches().watch("/a", () -> {});
        assertThat(session.watches().isArmed("/a")).isTrue();

        zk.getClientConfig().setProperty(ZKClientConfig.DISABLE_AUTO_WATCH_RESET, "true");

        assertThat(session.watches().isArmed("/a")).isFalse();
    }
}
