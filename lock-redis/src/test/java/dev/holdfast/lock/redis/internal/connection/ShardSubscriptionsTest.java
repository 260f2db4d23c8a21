package dev.holdfast.lock.redis.internal.connection;

import static dev.holdfast.lock.redis.StubCluster.HOME;
import static dev.holdfast.lock.redis.StubCluster.OTHER;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.redis.StubCluster;
import dev.holdfast.lock.redis.StubSubscriber;
import dev.holdfast.lock.redis.internal.script.RedisKeys;
import dev.holdfast.lock.testkit.support.LogCapture;
import io.lettuce.core.RedisConnectionException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Which node a lock's channel is subscribed at, how often, and until when: without a server. */
final class ShardSubscriptionsTest {
    private static final int IDLE = 256;
    private static final long RETRY = 500_000_000;
    private static final long AWAY = 1_000_000_000;

    private final AtomicLong nanos = new AtomicLong(Long.MAX_VALUE - 100);
    private final RedisWaiters waiters = new RedisWaiters();
    private final StubCluster cluster = new StubCluster();
    private final StubFactory factory = StubFactory.subscribing(cluster::connectPubSub);
    private final ShardSignals signals = new ShardSignals(cluster::refresh, waiters, factory, nanos::get);

    @AfterEach
    void close() {
        signals.close();
    }

    private static RedisKeys keys(String name) {
        return RedisKeys.of("holdfast", name);
    }

    private String channel(String name) {
        return "holdfast:{" + name + "}:c:" + signals.inbox();
    }

    private String mode(String name) {
        String mode = signals.mode(keys(name));
        StubFactory.settle();
        return mode;
    }

    private StubSubscriber node(int port) {
        return node(1, port);
    }

    private StubSubscriber node(int connection, int port) {
        StubFactory.settle();
        StubSubscriber node = cluster.nodes.get(connection + ":" + port);
        assertThat(node).as("connection to %d", port).isNotNull();
        return node;
    }

    private AtomicInteger listen(String owner) {
        AtomicInteger calls = new AtomicInteger();
        waiters.listen(owner, calls::incrementAndGet);
        return calls;
    }

    /** Waits, and is subscribed. */
    private StubSubscriber subscribed(String owner, String name) {
        signals.wanted(owner, keys(name));
        StubSubscriber node = node(HOME);
        assertThat(node.sent).endsWith("ssubscribe " + channel(name));
        node.ssubscribed(channel(name));
        assertThat(mode(name)).isEqualTo("S");
        return node;
    }

    private void idle(int from, int to) {
        for (int i = from; i <= to; i++) {
            signals.wanted("passing", keys("passing" + i));
            signals.unwanted("passing");
        }
    }

    private static TimeoutException failure() {
        return new TimeoutException("made up by the test; expect it");
    }

    private void miss(int times) {
        for (int i = 0; i < times; i++) {
            signals.missed();
        }
    }

    @Test
    void lock_isSubscribedOnce_onAThreadOfItsOwn_andAllItsWaitersAreCalledThen() {
        assertThat(signals.queues()).isTrue();
        assertThat(signals.inbox()).matches("[0-9a-f]+");
        AtomicInteger one = listen("0a");
        AtomicInteger two = listen("0b");
        AtomicInteger elsewhere = listen("0c");
        signals.wanted("0a", keys("n"));
        signals.wanted("0a", keys("n"));
        signals.wanted("0b", keys("n"));
        signals.wanted("0c", keys("m"));
        StubSubscriber node = node(HOME);
        assertThat(factory.connecting).containsExactly("holdfast-redis-subscribe, a daemon");
        assertThat(node.sent).containsExactlyInAnyOrder("ssubscribe " + channel("n"), "ssubscribe " + channel("m"));
        assertThat(node.answers).allMatch(each -> each.bounds.equals(List.of(Duration.ofSeconds(10))));
        assertThat(node.listeners).as("listeners of one node").hasSize(1);
        assertThat(node.watchers).hasSize(1);
        assertThat(mode("n")).as("on its way").isEqualTo("s");

        node.ssubscribed(channel("n"));

        assertThat(mode("n")).isEqualTo("S");
        assertThat(mode("m")).isEqualTo("s");
        assertThat(one).hasValue(1);
        assertThat(two).hasValue(1);
        assertThat(elsewhere).hasValue(0);
        node.smessage("0c");
        assertThat(elsewhere).hasValue(1);
        assertThat(cluster.refreshes).hasValue(0);
    }

    @Test
    void subscriptionThatFails_isTriedOnceMore_whereTheSlotIsByThen() {
        signals.wanted("0a", keys("n"));
        StubSubscriber home = node(HOME);
        cluster.move(keys("n").lock());
        home.refuse(failure());
        assertThat(cluster.refreshes).hasValue(1);
        assertThat(home.sent).hasSize(1);
        StubSubscriber other = node(OTHER);
        assertThat(other.sent).containsExactly("ssubscribe " + channel("n"));
        other.ssubscribed(channel("n"));
        assertThat(mode("n")).isEqualTo("S");
        home.disconnected(false);
        assertThat(mode("n")).as("where it failed").isEqualTo("S");
    }

    @Test
    void subscriptionThatFailsTwice_isGivenUp_andTriedEachHalfSecondWhileSomebodyWaits() {
        try (LogCapture log = new LogCapture()) {
            AtomicInteger calls = listen("0a");
            signals.wanted("0a", keys("n"));
            StubSubscriber node = node(HOME);
            node.refuse(failure());
            assertThat(mode("n")).isEqualTo("s");
            assertThat(calls).hasValue(0);
            node.refuse(failure());
            assertThat(mode("n")).isEqualTo("-");
            assertThat(mode("m")).as("all others, too").isEqualTo("-");
            assertThat(calls)
                    .as("calls, so that nobody is waited for in the queue")
                    .hasValue(1);
            assertThat(node.sent).hasSize(2);

            nanos.addAndGet(RETRY);
            assertThat(mode("m")).isEqualTo("-");
            assertThat(node.sent).hasSize(2);
            nanos.addAndGet(1);
            assertThat(mode("m")).isEqualTo("-");
            assertThat(mode("k")).isEqualTo("-");
            assertThat(node.sent).hasSize(3).endsWith("ssubscribe " + channel("m"));
            node.refuse(failure());
            node.refuse(failure());
            assertThat(node.sent).hasSize(4);
            nanos.addAndGet(RETRY + 1);
            assertThat(mode("m")).as("it was given up, so it is tried again").isEqualTo("-");
            assertThat(node.sent).hasSize(5);

            node.ssubscribed(channel("m"));

            assertThat(mode("m")).isEqualTo("S");
            assertThat(mode("n")).isEqualTo("s");
            signals.wanted("0a", keys("n"));
            assertThat(node.sent).as("for whom it was given up").endsWith("ssubscribe " + channel("n"));
            idle(1, IDLE);
            assertThat(node.sent).as("nobody has ever waited for it").endsWith("sunsubscribe " + channel("m"));
            assertThat(log.ours()).isEmpty();
        }
    }

    @Test
    void clusterThatCannotBeReached_orHasNoNodeForTheSlot_isTriedAgain() {
        cluster.unreachable = new RedisConnectionException("made up by the test; expect it");
        signals.wanted("0a", keys("n"));
        StubFactory.settle();
        assertThat(factory.connecting).hasSize(2);
        assertThat(mode("n")).isEqualTo("-");
        cluster.unreachable = null;
        cluster.displace();
        nanos.addAndGet(RETRY + 1);
        assertThat(mode("n")).isEqualTo("-");
        assertThat(cluster.nodes).isEmpty();
        cluster.place();
        nanos.addAndGet(RETRY + 1);
        mode("n");
        node(HOME).ssubscribed(channel("n"));
        assertThat(mode("n")).isEqualTo("S");
        assertThat(cluster.connections).hasSize(1);
    }

    @Test
    void channelsOfWhomNobodyWaits_stay_butForTheOldestOfMoreThan256() {
        StubSubscriber node = subscribed("0a", "used");
        signals.wanted("0b", keys("used"));
        signals.unwanted("0a");
        signals.unwanted("0a");
        signals.unwanted("0x");
        idle(1, IDLE);
        signals.wanted("0c", keys("passing2"));
        signals.unwanted("0c");
        assertThat(node.sent).as("one each").hasSize(1 + IDLE);
        node.ssubscribed(channel("passing1"));

        idle(IDLE + 1, IDLE + 2);

        assertThat(node.sent.subList(1 + IDLE, node.sent.size()))
                .containsExactly(
                        "ssubscribe " + channel("passing257"),
                        "sunsubscribe " + channel("passing1"),
                        "ssubscribe " + channel("passing258"),
                        "sunsubscribe " + channel("passing3"));
        node.sunsubscribed(channel("passing1"));
        assertThat(mode("passing1")).isEqualTo("s");
        assertThat(cluster.refreshes).as("it is not wanted again").hasValue(0);
        signals.wanted("0d", keys("passing1"));
        assertThat(node.sent).endsWith("ssubscribe " + channel("passing1"));
        node.ssubscribed(channel("passing3"));
        assertThat(node.sent).as("what comes late").endsWith("ssubscribe " + channel("passing1"));
        assertThat(mode("passing3")).isEqualTo("s");
    }

    @Test
    void slotThatHasMoved_takesItsChannelAlong() {
        StubSubscriber home = subscribed("0a", "n");
        AtomicInteger calls = listen("0a");
        cluster.move(keys("n").lock());
        home.sunsubscribed(channel("n"));
        assertThat(mode("n")).isEqualTo("s");
        assertThat(cluster.refreshes).hasValue(1);
        StubSubscriber other = node(OTHER);
        other.ssubscribed(channel("n"));
        assertThat(mode("n")).isEqualTo("S");
        assertThat(calls).hasValue(1);

        home.disconnected(false);
        home.connected();

        assertThat(mode("n")).isEqualTo("S");
        assertThat(home.sent).as("it is not there any more").hasSize(1);
    }

    @Test
    void nodeThatIsAway_isSubscribedAtAgain_whenItIsBack() {
        StubSubscriber node = subscribed("0a", "n");
        subscribed("0b", "m");
        signals.unwanted("0b");
        node.disconnected(false);
        assertThat(mode("n")).isEqualTo("s");
        nanos.addAndGet(AWAY - 1);
        mode("n");
        assertThat(cluster.refreshes).hasValue(0);
        nanos.addAndGet(1);
        mode("n");
        mode("n");
        assertThat(cluster.refreshes).as("questions a second").hasValue(1);
        assertThat(node.sent).as("while nobody else has its slots").hasSize(2);

        node.connected();

        assertThat(node.sent.subList(2, node.sent.size()))
                .containsExactlyInAnyOrder("ssubscribe " + channel("n"), "ssubscribe " + channel("m"));
        node.ssubscribed(channel("n"));
        assertThat(mode("n")).isEqualTo("S");
        nanos.addAndGet(AWAY);
        mode("m");
        assertThat(cluster.refreshes).hasValue(1);
    }

    @Test
    void nodeThatIsAway_losesItsChannelsToItsSuccessor() {
        StubSubscriber home = subscribed("0a", "n");
        home.disconnected(false);
        cluster.move(keys("n").lock());
        nanos.addAndGet(AWAY);
        mode("n");
        StubSubscriber other = node(OTHER);
        assertThat(other.sent).containsExactly("ssubscribe " + channel("n"));
        other.ssubscribed(channel("n"));
        assertThat(mode("n")).isEqualTo("S");
        nanos.addAndGet(AWAY);
        mode("m");
        home.connected();
        assertThat(home.sent).hasSize(1);
        assertThat(other.sent).hasSize(1);
    }

    @Test
    void callsThatDoNotArrive_makeAllConnectionsAnew_andTheirChannels() {
        miss(3);
        StubSubscriber first = subscribed("0a", "n");
        miss(2);
        first.smessage("somebody");
        miss(2);
        assertThat(cluster.closes).hasValue(0);
        try (LogCapture log = new LogCapture()) {
            miss(1);
            assertThat(log.ours()).isEmpty();
        }
        assertThat(cluster.closes).hasValue(1);
        miss(3);
        assertThat(cluster.closes).as("while there is none").hasValue(1);

        first.disconnected(false);
        first.disconnected(true);

        StubSubscriber second = node(2, HOME);
        assertThat(second.sent).containsExactly("ssubscribe " + channel("n"));
        assertThat(mode("n")).isEqualTo("s");
        second.ssubscribed(channel("n"));
        assertThat(mode("n")).isEqualTo("S");
        miss(2);
        assertThat(cluster.closes).hasValue(1);
        nanos.addAndGet(AWAY);
        mode("m");
        assertThat(cluster.refreshes)
                .as("questions for a connection that was closed")
                .hasValue(0);
    }

    @Test
    void end_closesTheConnection_andNothingIsSubscribedAnyMore() {
        StubSubscriber node = subscribed("0a", "n");
        signals.wanted("0b", keys("m"));
        signals.close();
        assertThat(factory.closed).containsExactlyElementsOf(cluster.connections);
        node.refuse(failure());
        node.sunsubscribed(channel("n"));
        node.connected();
        node.disconnected(true);
        signals.wanted("0c", keys("k"));
        StubFactory.settle();
        assertThat(node.sent).hasSize(2);
        assertThat(cluster.connections).hasSize(1);
        nanos.addAndGet(RETRY + 1);
        assertThat(mode("m")).isEqualTo("-");
        assertThat(node.sent).hasSize(2);
    }

    @Test
    void connectionThatComesAfterTheEnd_isClosed() {
        cluster.mayConnect = new CountDownLatch(1);
        signals.wanted("0a", keys("n"));
        signals.close();
        cluster.mayConnect.countDown();
        StubFactory.settle();
        assertThat(cluster.connections).hasSize(1);
        assertThat(factory.closed).containsExactlyElementsOf(cluster.connections);
    }
}
