package dev.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.Watcher.Event.EventType;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.junit.jupiter.api.Test;

/** Watches that are set, missed, refused and forgotten. No server. */
class WatchesTest {
    private final UnsentZooKeeper zk = new UnsentZooKeeper();
    private final Session session = new Session(zk);

    WatchesTest() throws IOException {}

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

    @Test
    void line_watchWithoutAnAnswer_isSetForTheNextOneWhoListens() {
        List<WatchedEvent> heard = new ArrayList<>();
        Watcher listener = heard::add;
        zk.answer("watch all /line", Code.CONNECTIONLOSS);
        session.lines().add("/line", listener);
        zk.answer("watch all /line", Code.OK);

        session.lines().add("/line", listener);
        session.lines().add("/line", listener);

        assertThat(zk.requests).containsExactly("watch all /line", "watch all /line");
        zk.watchers.get("/line").process(deleted("/line/a"));
        assertThat(heard).hasSize(1);
        session.lines().remove("/line", listener);
        assertThat(zk.requests).endsWith("unwatch /line").hasSize(3);
    }
}
