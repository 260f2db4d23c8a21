package dev.holdfast.lock.zookeeper.internal.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.zookeeper.LocalCurator;
import dev.holdfast.lock.zookeeper.LocalTree;
import dev.holdfast.lock.zookeeper.LocalZooKeeper;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher.Event.EventType;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooKeeper;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Following the events of the handle from session to session. No server. */
class SessionTrackerTest {
    private final LocalTree tree = new LocalTree();
    private final LocalZooKeeper zk = new LocalZooKeeper(tree);
    private final LocalCurator curator = new LocalCurator(zk);
    private final List<String> observed = new ArrayList<>();
    private final SessionTracker sessions =
            new SessionTracker(curator.framework(), false, new SessionTracker.Observer() {
                @Override
                public void suspended(Session session, String detail) {
                    observed.add("suspended " + session.id() + ": " + detail);
                }

                @Override
                public void connected(Session session) {
                    observed.add("connected " + session.id());
                }

                @Override
                public void ended(Session session, String detail) {
                    observed.add("ended " + session.id() + ": " + detail);
                }
            });

    SessionTrackerTest() throws IOException {
        sessions.start();
    }

    @Test
    void current_isTheHandles_whileThatIsTheSame() throws Exception {
        Session session = sessions.current();
        assertThat(session.handle()).isSameAs(zk);
        assertThat(sessions.current()).isSameAs(session);
        curator.handle = new LocalZooKeeper(tree);

        Session next = sessions.current();

        assertThat(next.handle()).isSameAs(curator.handle);
        assertThat(observed).containsExactly("ended " + session.id() + ": the session was replaced by a new one");
        assertThat(session.isAlive()).isFalse();
        assertThat(session.isConnected()).isFalse();
        assertThat(session.end()).as("once").isFalse();
    }

    @Test
    void current_withoutALivingHandle_isUnavailable() {
        zk.state = ZooKeeper.States.CLOSED;
        assertThatThrownBy(sessions::current)
                .isInstanceOf(LockUnavailableException.class)
                .hasMessage("the ZooKeeper session has just ended; try again with the next one");
        curator.handle = null;
        assertThatThrownBy(sessions::current)
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("the CuratorFramework has no ZooKeeper handle");
        IllegalStateException notStarted = new IllegalStateException("not started");
        curator.failure = notStarted;
        assertThatThrownBy(sessions::current).isSameAs(notStarted);
        IOException cut = new IOException("cut");
        curator.failure = cut;
        assertThatThrownBy(sessions::current)
                .isInstanceOf(LockUnavailableException.class)
                .hasMessage("cannot get a ZooKeeper handle: cut; check the connect string and the network")
                .hasCause(cut);
    }

    @ParameterizedTest
    @EnumSource
    void news_ofTheSession_areToldOnce(KeeperState state) {
        Session session = sessions.current();
        curator.tell(state);
        String id = " " + session.id();
        switch (state) {
            case SyncConnected -> assertThat(observed).containsExactly("connected" + id);
            case Disconnected, ConnectedReadOnly, AuthFailed ->
                assertThat(observed).containsExactly("suspended" + id + ": the connection's state is " + state);
            default -> assertThat(observed).as("of a living session").isEmpty();
        }
        boolean lost = List.of(KeeperState.Disconnected, KeeperState.ConnectedReadOnly, KeeperState.AuthFailed)
                .contains(state);
        assertThat(session.isConnected()).isEqualTo(!lost);
        curator.tell(KeeperState.SyncConnected);
        assertThat(session.isConnected()).isTrue();
    }

    @Test
    void news_ofNoSession_areNothing() {
        curator.tell(KeeperState.Disconnected);
        curator.tell(KeeperState.Expired);
        sessions.current();
        curator.tell((WatchedEvent) null);
        curator.tell(new WatchedEvent(EventType.NodeDeleted, KeeperState.Disconnected, "/a"));
        assertThat(observed).isEmpty();
        assertThat(sessions.current().isConnected()).isTrue();
    }

    @ParameterizedTest
    @EnumSource(
            value = KeeperState.class,
            names = {"Expired", "Closed"})
    void end_ofADeadSession_isToldOnce(KeeperState state) throws Exception {
        Session session = sessions.current();
        zk.state = ZooKeeper.States.CLOSED;
        curator.tell(state);
        curator.tell(state);
        curator.handle = new LocalZooKeeper(tree);
        assertThat(sessions.current()).isNotSameAs(session);
        assertThat(observed).containsExactly("ended " + session.id() + ": the server has ended the session: " + state);
    }

    @Test
    void stop_hearsNoMore() {
        assertThat(curator.listeners).containsExactly(sessions);
        sessions.stop();
        assertThat(curator.listeners).isEmpty();
    }
}
