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

/** Watches that are set, missed, refused and removed. No server. */
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

    @Test
    void line_isTakenFromTheServerWithItsLastListener_ifItIsThere() {
        Watcher one = event -> {};
        Watcher two = event -> {};
        session.lines().remove("/nothing", one);
        session.lines().add("/line", one);
        session.lines().add("/line", two);
        session.lines().remove("/line", one);
        session.lines().remove("/line", one);
        assertThat(zk.requests).containsExactly("watch all /line");
        session.lines().remove("/line", two);
        session.lines().remove("/line", two);
        assertThat(zk.requests).containsExactly("watch all /line", "unwatch /line");
        zk.answer("watch all /line", Code.CONNECTIONLOSS);
        session.lines().add("/line", one);
        session.lines().remove("/line", one);
        assertThat(zk.requests).as("of a watch that was not set").endsWith("watch all /line");
        session.lines().add("/other", two);
        session.end();
        session.lines().remove("/other", two);
        assertThat(zk.requests).as("of a session that is over").endsWith("watch all /other");
    }

    @Test
    void line_watchesTellAllTheirListeners() {
        List<String> heard = new ArrayList<>();
        session.lines().add("/line", event -> heard.add("one " + event.getPath()));
        session.lines().add("/line", event -> heard.add("two " + event.getPath()));
        zk.watchers.get("/line").process(deleted("/line/a"));
        assertThat(heard).containsExactly("one /line/a", "two /line/a");
    }

    /** Each waiter computes its room; if it cannot, it is called. */
    @Test
    void lineWatch_callsForRoom_orWhereItCannotTell() {
        String owner = "0123456789abcdef0123456789abcdef-";
        String ahead = owner + "p1of1-0000000001";
        String own = owner + "p1of1-0000000002";
        AtomicInteger calls = new AtomicInteger();
        zk.children.clear();
        zk.children.add(List.of(own, ahead, "permits"));
        zk.hold();
        LineWatch watch = new LineWatch(session, "/line", own, UnsentZooKeeper.CZXID, calls::incrementAndGet);
        watch.open();
        watch.process(deleted("/line/" + ahead));
        assertThat(calls).as("before its listing").hasValue(0);
        zk.answerAll();
        assertThat(calls).as("a node is ahead").hasValue(0);
        for (WatchedEvent nothing : List.of(
                deleted("/line/" + owner + "0000000009"),
                deleted("/line"),
                deleted("/lines/" + ahead),
                event(EventType.NodeDataChanged, "/line/" + ahead),
                event(EventType.NodeCreated, "/line/" + ahead),
                new WatchedEvent(EventType.None, KeeperState.SyncConnected, null))) {
            watch.process(nothing);
        }
        assertThat(calls).hasValue(0);
        watch.process(event(EventType.NodeDataChanged, "/line"));
        assertThat(calls).hasValue(1);
        watch.process(deleted("/line/" + ahead));
        assertThat(calls).hasValue(2);
        watch.process(deleted("/line/" + own));
        assertThat(calls).as("its own node is gone").hasValue(3);
        watch.close();
        watch.process(event(EventType.NodeDataChanged, "/line"));
        assertThat(calls).hasValue(3);
        assertThat(zk.requests).containsExactly("watch all /line", "exists /line", "list /line", "unwatch /line");

        zk.children.add(List.of(owner + "2147483647", own, ahead));
        zk.children.removeFirst();
        LineWatch unordered = new LineWatch(session, "/line", own, UnsentZooKeeper.CZXID, calls::incrementAndGet);
        unordered.open();
        assertThat(calls).as("an unknown order").hasValue(4);
        unordered.close();
        unordered.open();
        assertThat(calls).as("closed before it was opened again").hasValue(4);
        LineWatch changed = new LineWatch(session, "/line", own, -1, calls::incrementAndGet);
        changed.open();
        assertThat(calls).as("written since, and unordered").hasValue(6);
    }
}
