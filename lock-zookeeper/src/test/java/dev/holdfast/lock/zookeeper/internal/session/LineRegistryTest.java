package dev.holdfast.lock.zookeeper.internal.session;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.zookeeper.UnsentZooKeeper;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher.Event.EventType;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.junit.jupiter.api.Test;

/** The queue of a name by its events, for many waiters. No server. */
class LineRegistryTest {
    private static final String OWNER = "0123456789abcdef0123456789abcdef-";

    private final UnsentZooKeeper zk = new UnsentZooKeeper();
    private final Session session = new Session(zk, false);
    private final LineRegistry lines = session.lines();
    private final List<String> woken = new ArrayList<>();

    LineRegistryTest() throws IOException {}

    /** A node that asks for one of so many permits. */
    private static String node(int sequence, int limit) {
        return OWNER + "p1of" + limit + String.format("-%010d", sequence);
    }

    private Subscription listen(String child) {
        return lines.listen("/line", child, UnsentZooKeeper.CZXID, () -> woken.add(child));
    }

    private void queue(String... children) {
        zk.children.clear();
        zk.children.add(List.of(children));
    }

    private void event(EventType type, String path) {
        zk.watchers.get("/line").process(new WatchedEvent(type, KeeperState.SyncConnected, path));
    }

    private void deleted(String child) {
        event(EventType.NodeDeleted, "/line/" + child);
    }

    private List<String> woken() {
        List<String> now = List.copyOf(woken);
        woken.clear();
        return now;
    }

    @Test
    void deletion_wakesThoseThatHaveRoomThen() {
        queue(node(4, 2), node(3, 2), node(2, 2), node(1, 2), "permits");
        for (int i = 3; i <= 4; i++) {
            listen(node(i, 2));
        }
        assertThat(woken()).isEmpty();
        assertThat(lines.isFull("/line", node(3, 2))).isTrue();

        deleted(node(2, 2));

        assertThat(woken()).containsExactly(node(3, 2));
        assertThat(lines.isFull("/line", node(3, 2))).isFalse();
        assertThat(lines.isFull("/line", node(4, 2))).isTrue();
        deleted(node(2, 2));
        assertThat(woken()).as("a deletion that was reported before").isEmpty();
        deleted(node(1, 2));
        assertThat(woken()).containsExactly(node(3, 2), node(4, 2));
        assertThat(zk.requests).containsExactly("watch all /line", "exists /line", "list /line");
    }

    @Test
    void creations_arePartOfTheLine_withoutARequest() {
        queue(node(1, 1), node(2, 1));
        listen(node(2, 1));
        event(EventType.NodeCreated, "/line/" + node(3, 1));
        listen(node(3, 1));
        assertThat(woken()).isEmpty();

        deleted(node(2, 1));
        assertThat(woken()).as("its own node is gone").containsExactly(node(2, 1));
        deleted(node(1, 1));

        assertThat(woken()).containsExactly(node(3, 1));
        assertThat(zk.requests("list")).hasSize(1);
    }

    /** A listing may be older or newer than the events before its answer. */
    @Test
    void listing_answeredBetweenEvents_hasTheirChanges() {
        queue(node(1, 1), node(2, 1));
        zk.hold();
        listen(node(2, 1));
        deleted(node(1, 1));
        event(EventType.NodeCreated, "/line/" + node(3, 1));
        assertThat(lines.isFull("/line", node(3, 1))).as("before the listing").isFalse();
        zk.answerAll();
        assertThat(woken()).containsExactly(node(2, 1));
        assertThat(lines.isFull("/line", node(3, 1))).isTrue();
    }

    @Test
    void newcomer_hasToWait_ifNothingIsLeft() {
        queue(node(1, 3), node(2, 3));
        Subscription subscription = listen(node(2, 3));
        assertThat(lines.isFull("/line", new Demand.Permits(1, 3))).isFalse();
        assertThat(lines.isFull("/line", new Demand.Permits(2, 3))).isTrue();
        event(EventType.NodeCreated, "/line/" + OWNER + "r-0000000003");
        assertThat(lines.isFull("/line", new Demand.Permits(1, 3)))
                .as("behind a reader")
                .isTrue();
        assertThat(lines.isFull("/another", new Demand.Permits(3, 3))).isFalse();
        subscription.close();
        assertThat(lines.isFull("/line", new Demand.Permits(2, 3)))
                .as("not followed")
                .isFalse();
    }

    @Test
    void lockAhead_goneFromTheLine_makesRoom() {
        queue(OWNER + "0000000001", node(2, 2));
        listen(node(2, 2));
        assertThat(woken()).isEmpty();
        deleted(OWNER + "0000000001");
        assertThat(woken()).containsExactly(node(2, 2));
    }

    /** The numbers are at their end, so the order is not known. */
    @Test
    void unorderedLine_wakesAllAtEachDeletion() {
        String late = OWNER + "p1of1-2147483647";
        queue(late, node(1, 1), node(2, 1));
        listen(node(2, 1));
        assertThat(woken()).isNotEmpty();
        assertThat(lines.isFull("/line", node(2, 1))).isFalse();
        assertThat(lines.isFull("/line", new Demand.Permits(1, 1))).isFalse();
        deleted(late);
        assertThat(woken()).containsExactly(node(2, 1));
    }

    @Test
    void limit_changed_wakesAllThatWereThere() {
        queue(node(1, 1), node(2, 1), node(3, 1));
        listen(node(2, 1));
        zk.hold();
        event(EventType.NodeDataChanged, "/line");
        assertThat(woken()).containsExactly(node(2, 1));
        listen(node(3, 1));
        assertThat(woken()).as("the zxid of the change is not known").containsExactly(node(3, 1));
        zk.answerAll();
        event(EventType.NodeDataChanged, "/line/permits");
        listen(node(3, 1));
        assertThat(woken()).isEmpty();
        lines.listen("/line", node(3, 1), -1, () -> woken.add("older"));
        assertThat(woken()).containsExactly("older");
    }

    @Test
    void reconnection_listsOnce_andWakesThoseThatMissedAnEvent() {
        queue(node(1, 1), node(2, 1), node(3, 1));
        listen(node(2, 1));
        listen(node(3, 1));
        queue(node(2, 1), node(3, 1));
        zk.requests.clear();

        lines.resume();

        assertThat(woken()).containsExactly(node(2, 1));
        assertThat(zk.requests).containsExactly("exists /line", "list /line");
    }

    @Test
    void watch_removedByAnotherProgram_isSetAgainAtOnce() {
        queue(node(1, 1), node(2, 1));
        Subscription subscription = listen(node(2, 1));
        queue(node(2, 1));
        zk.requests.clear();

        event(EventType.PersistentWatchRemoved, "/line");

        assertThat(zk.requests).containsExactly("watch all /line", "exists /line", "list /line");
        assertThat(woken()).containsExactly(node(2, 1));
        subscription.close();
        zk.requests.clear();
        event(EventType.PersistentWatchRemoved, "/line");
        assertThat(zk.requests).as("by its own removal").isEmpty();
    }

    @Test
    void watch_withoutAnAnswer_isSetForTheNextWaiter_orAfterAReconnection() {
        queue(node(1, 1), node(2, 1), node(3, 1));
        zk.answer("watch all /line", Code.CONNECTIONLOSS);
        listen(node(2, 1));
        listen(node(3, 1));
        assertThat(lines.isFull("/line", node(2, 1))).as("without a watch").isFalse();
        zk.answer("watch all /line", Code.OK);
        lines.resume();
        assertThat(lines.isFull("/line", node(2, 1))).isTrue();
        assertThat(zk.requests("watch all")).hasSize(3);
    }

    @Test
    void watch_endsWithTheLastWaiter_ifTheSessionLives() {
        queue(node(1, 1), node(2, 1), node(3, 1));
        Subscription one = listen(node(2, 1));
        Subscription two = listen(node(3, 1));
        one.close();
        one.close();
        assertThat(zk.requests("unwatch")).isEmpty();
        two.close();
        two.close();
        assertThat(zk.requests("unwatch")).containsExactly("unwatch /line");
        Subscription three = listen(node(3, 1));
        session.end();
        three.close();
        assertThat(zk.requests("unwatch")).hasSize(1);
    }

    /** The servers have one watch for all programs that share a session. */
    @Test
    void watch_inASharedSession_isRemovedForItselfAlone() {
        Session shared = new Session(zk, true);
        shared.lines().listen("/line", node(2, 1), 1, () -> {}).close();
        assertThat(zk.requests("unwatch")).containsExactly("unwatch one /line");
    }

    /** An event is missing, so only a listing can show who holds what. */
    @Test
    void queue_withoutANodeThatThePermitsName_isNotComplete() {
        queue(node(1, 2));
        listen(node(1, 2));

        assertThat(lines.queue("/line", node(1, 2), Set.of(node(1, 2)))).isPresent();
        assertThat(lines.queue("/line", node(1, 2), Set.of(node(1, 2), node(9, 2))))
                .isEmpty();
    }
}
