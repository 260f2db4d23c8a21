package dev.holdfast.lock.redis.internal.connection;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.redis.StubSubscriber;
import dev.holdfast.lock.redis.internal.script.RedisKeys;
import dev.holdfast.lock.testkit.support.LogCapture;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisConnectionException;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** When a subscription is made and repeated, what becomes of its connections, and what is said: without a server. */
final class ChannelSignalsTest {
    private static final RedisKeys KEYS = RedisKeys.of("holdfast", "n");
    private static final long MILLI = 1_000_000;

    /** When a subscription that has failed is tried again, when one in flight is not trusted, and when it is given up. */
    private static final long RETRY = 500 * MILLI;

    private static final long DOUBTFUL = 2_000 * MILLI;
    private static final long LATE = 10_000 * MILLI;

    /** Overflows soon, as a machine's may. */
    private final AtomicLong nanos = new AtomicLong(Long.MAX_VALUE - 100);

    private final List<StubSubscriber> connections = new CopyOnWriteArrayList<>();
    private final StubFactory factory = StubFactory.subscribing(this::connectPubSub);
    private final RedisWaiters waiters = new RedisWaiters();
    private final AtomicInteger calls = new AtomicInteger();
    private final ChannelSignals signals = signals(true);
    private volatile CountDownLatch mayConnect = new CountDownLatch(0);
    private volatile @Nullable RuntimeException unreachable;
    private volatile @Nullable Error lacking;
    private volatile @Nullable StubSubscriber users;

    private StatefulRedisPubSubConnection<String, String> connectPubSub() {
        RuntimeException failure = unreachable;
        try {
            mayConnect.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        if (failure != null) {
            throw failure;
        }
        StubSubscriber connection = users == null ? new StubSubscriber() : users;
        connection.lacking = lacking;
        connections.add(connection);
        return connection.connection;
    }

    private ChannelSignals signals(boolean countsAll) {
        return new ChannelSignals("holdfast", countsAll, waiters, factory, nanos::get);
    }

    @BeforeEach
    void somebodyWaits() {
        waiters.listen("0a", calls::incrementAndGet);
    }

    @AfterEach
    void close() {
        signals.close();
    }

    private String mode() {
        return signals.mode(KEYS);
    }

    private void pass(long nanoseconds) {
        nanos.addAndGet(nanoseconds);
    }

    /** The latest connection, after those that are being made, of as many as there must be. */
    private StubSubscriber last(int count) {
        assertConnections(count);
        return connections.get(count - 1);
    }

    private void assertConnections(int count) {
        StubFactory.settle();
        assertThat(connections).as("connections").hasSize(count);
    }

    private StubSubscriber subscribed() {
        signals.wanted("0a", KEYS);
        StubSubscriber connection = last(1);
        connection.subscribed();
        assertThat(mode()).isEqualTo("P");
        return connection;
    }

    private void miss(int times) {
        for (int i = 0; i < times; i++) {
            signals.missed();
        }
    }

    private static RedisCommandExecutionException refusal() {
        return new RedisCommandExecutionException("NOPERM, made up by the test; expect it");
    }

    @Test
    void nobodyWaits_nothingIsConnected() {
        assertThat(signals.queues()).isTrue();
        miss(3);
        pass(LATE + 1);
        assertThat(mode()).isEqualTo("p");
        assertConnections(0);
    }

    @Test
    void firstWaiter_subscribesOnce_toAChannelOfThisClient_onAThreadThatEndsNoProcessLate() {
        signals.wanted("0a", KEYS);
        signals.wanted("0b", KEYS);
        StubSubscriber connection = last(1);
        assertThat(factory.connecting).containsExactly("holdfast-redis-subscribe, a daemon");
        assertThat(signals.inbox())
                .matches("[0-9a-f]+")
                .isNotEqualTo(signals(true).inbox());
        assertThat(connection.sent).containsExactly("subscribe holdfast:c:" + signals.inbox());
        assertThat(connection.answers.get(0).bounds).containsExactly(Duration.ofSeconds(10));
        assertThat(mode()).as("on its way").isEqualTo("p");
        assertThat(calls).hasValue(0);

        connection.subscribed();

        assertThat(mode()).isEqualTo("P");
        assertThat(calls).as("calls, since one may have been missed").hasValue(1);
        connection.message("0a");
        connection.message("0b");
        assertThat(calls).hasValue(2);
        signals.wanted("0c", KEYS);
        assertConnections(1);
    }

    /** Its servers count receivers on one of them only. */
    @Test
    void plainChannelOfACluster_provesNothing() {
        ChannelSignals ofACluster = signals(false);
        ofACluster.wanted("0a", KEYS);
        last(1).subscribed();
        assertThat(ofACluster.mode(KEYS)).isEqualTo("p");
        ofACluster.close();
    }

    @Test
    void subscriptionWithoutAnAnswer_isDoubtedAfterTwoSeconds_andReplacedAfterTen() {
        signals.wanted("0a", KEYS);
        StubSubscriber first = last(1);
        pass(DOUBTFUL - 1);
        assertThat(mode()).isEqualTo("p");
        pass(1);
        assertThat(mode()).isEqualTo("-");
        pass(LATE - DOUBTFUL);
        assertThat(mode()).isEqualTo("-");
        assertConnections(1);
        pass(1);

        assertThat(mode()).isEqualTo("-");

        assertThat(first.closes).hasValue(1);
        last(2).subscribed();
        assertThat(mode()).isEqualTo("P");
    }

    /** As with a server that hangs, whose first connection ends when there is another one. */
    @Test
    void connectionThatWasReplaced_hasNoSayAnyMore() {
        signals.wanted("0a", KEYS);
        StubSubscriber first = last(1);
        pass(LATE + 1);
        mode();
        StubSubscriber second = last(2);
        first.listeners.forEach(each -> each.subscribed("late", 1));
        assertThat(mode()).as("subscribed by the first one").isEqualTo("-");
        assertThat(calls).as("calls, since one may have been missed").hasValue(1);
        second.subscribed();
        assertThat(calls).hasValue(2);

        first.disconnected(true);
        assertThat(mode()).as("the first one has ended").isEqualTo("P");
        first.refuse(new TimeoutException("made up by the test; expect it"));
        assertThat(mode()).as("the first subscription has failed").isEqualTo("P");
    }

    @Test
    void connectionThatIsBeingMade_isNotMadeTwice() {
        mayConnect = new CountDownLatch(1);
        signals.wanted("0a", KEYS);
        pass(LATE + 1);
        mode();
        pass(LATE + 1);
        mode();
        mayConnect.countDown();
        assertConnections(1);
    }

    @Test
    void lostConnection_isBelievedInForTwoSeconds_untilTheClientHasItBack() {
        StubSubscriber connection = subscribed();
        pass(LATE);
        connection.disconnected(false);
        assertThat(mode()).isEqualTo("p");
        pass(DOUBTFUL);
        assertThat(mode()).isEqualTo("-");
        connection.disconnected(false);
        assertThat(mode()).as("it was tried again meanwhile").isEqualTo("-");
        assertThat(calls).hasValue(1);

        connection.subscribed();

        assertThat(mode()).isEqualTo("P");
        assertThat(calls).as("calls, since one may have been missed").hasValue(2);
        assertConnections(1);
    }

    /** There is a new one each half a second while there is a waiter. */
    @Test
    void subscriptionThatIsRefused_isToldOnce_closed_andTriedAgainWhileSomebodyWaits() {
        try (LogCapture log = new LogCapture()) {
            signals.wanted("0a", KEYS);
            for (int i = 1; i <= 3; i++) {
                StubSubscriber connection = last(i);
                connection.refuse(refusal());
                assertThat(connection.closes).hasValue(1);
                assertThat(calls)
                        .as("calls, so that nobody is waited for in the queue")
                        .hasValue(i);
                connection.disconnected(true);
                pass(RETRY);
                assertThat(mode()).isEqualTo("-");
                assertConnections(i);
                pass(1);
                assertThat(mode()).isEqualTo("-");
            }
            last(4).subscribed();
            assertThat(mode()).isEqualTo("P");
            assertThat(log.ours())
                    .singleElement()
                    .asString()
                    .contains(
                            "WARN",
                            "channel 'holdfast:c:" + signals.inbox() + "' subscribe: Redis refuses it: NOPERM",
                            "; until then waiters only poll");
        }
    }

    @Test
    void serverThatCannotBeReached_isTriedAgainHalfASecondAfterEachFailure_andNothingIsSaid() {
        try (LogCapture log = new LogCapture()) {
            unreachable = new RedisConnectionException("made up by the test; expect it");
            signals.wanted("0a", KEYS);
            assertConnections(0);
            assertThat(mode()).isEqualTo("-");
            assertThat(calls).hasValue(1);
            pass(RETRY + 1);
            mode();
            assertConnections(0);
            assertThat(calls).hasValue(2);
            unreachable = null;
            pass(RETRY);
            mode();
            assertConnections(0);
            signals.wanted("0b", KEYS);
            assertConnections(0);
            pass(1);
            mode();

            StubSubscriber connection = last(1);
            connection.refuse(new TimeoutException("made up by the test; expect it"));
            pass(RETRY + 1);
            mode();
            last(2).subscribed();

            assertThat(mode()).isEqualTo("P");
            assertThat(log.ours()).isEmpty();
        }
    }

    @Test
    void clientThatIsTooOld_leavesNoConnection_andIsToldOnce() {
        try (LogCapture log = new LogCapture()) {
            lacking = new NoSuchMethodError("made up by the test; expect it");
            signals.wanted("0a", KEYS);
            assertConnections(1);
            assertThat(calls).hasValue(1);
            pass(RETRY + 1);
            assertThat(mode()).isEqualTo("-");
            StubSubscriber second = last(2);
            assertThat(factory.closed)
                    .containsExactlyElementsOf(
                            connections.stream().map(each -> each.connection).toList());
            assertThat(second.sent).isEmpty();
            assertThat(log.ours()).singleElement().asString().contains("WARN", "until then waiters only poll");
        }
    }

    @Test
    void noMemoryToSubscribe_isTriedAgain() {
        try (LogCapture log = new LogCapture()) {
            lacking = new OutOfMemoryError("made up by the test; expect it");
            signals.wanted("0a", KEYS);
            assertConnections(1);
            assertThat(calls).as("the waiter leaves the queue").hasValue(1);
            lacking = null;
            pass(RETRY + 1);
            assertThat(mode()).isEqualTo("-");
            last(2).subscribed();
            assertThat(mode()).isEqualTo("P");
            assertThat(factory.closed).hasSize(1);
            assertThat(log.ours()).isEmpty();
        }
    }

    /** It is given once, and stays open whatever happens. */
    @Test
    void connectionOfTheUser_isSubscribedAgain_andNotListenedToTwice() {
        factory.connects = false;
        users = new StubSubscriber();
        signals.wanted("0a", KEYS);
        StubSubscriber given = last(1);
        given.refuse(refusal());
        pass(RETRY + 1);
        mode();
        last(2).subscribed();
        miss(3);
        last(3).subscribed();

        assertThat(mode()).isEqualTo("P");
        assertThat(given.sent).hasSize(3);
        assertThat(given.listeners).hasSize(1);
        assertThat(given.watchers).hasSize(1);
        assertThat(given.closes).hasValue(0);
    }

    /** Over days, calls are missed now and then on a connection that is in order. */
    @Test
    void callsMissed_withOneHeardBetweenThem_keepTheConnection() {
        StubSubscriber first = subscribed();
        miss(2);
        first.message("somebody");
        miss(2);
        assertThat(first.closes).hasValue(0);

        try (LogCapture log = new LogCapture()) {
            miss(1);
            assertThat(log.ours()).isEmpty();
        }

        assertThat(first.closes).hasValue(1);
        assertThat(mode()).isEqualTo("-");
        StubSubscriber second = last(2);
        second.subscribed();
        miss(2);
        assertThat(second.closes).hasValue(0);
        second.disconnected(false);
        miss(2);
        second.subscribed();
        miss(2);
        assertThat(second.closes).as("while it was lost, and since then").hasValue(0);
        miss(1);
        assertThat(second.closes).hasValue(1);
        assertConnections(3);
    }

    @Test
    void connectionThatComesAfterTheEnd_isClosedOnce_andNotSubscribed() {
        mayConnect = new CountDownLatch(1);
        signals.wanted("0a", KEYS);
        signals.close();
        mayConnect.countDown();

        StubSubscriber connection = last(1);

        assertThat(factory.closed).containsExactly(connection.connection);
        assertThat(connection.sent).isEmpty();
        pass(LATE + 1);
        mode();
        assertConnections(1);
    }

    @Test
    void end_closesTheConnectionOnce_andNothingIsTriedOrSaidAnyMore() {
        try (LogCapture log = new LogCapture()) {
            signals.wanted("0a", KEYS);
            StubSubscriber connection = last(1);
            signals.close();
            signals.close();
            assertThat(factory.closed).containsExactly(connection.connection);
            connection.refuse(refusal());
            assertThat(calls).hasValue(0);
            assertThat(connection.closes).as("by the factory").hasValue(0);
            pass(LATE + 1);
            mode();
            assertConnections(1);
            assertThat(log.ours()).isEmpty();
        }
        ChannelSignals unused = signals(true);
        unused.close();
        unused.wanted("0a", KEYS);
        assertConnections(1);
    }
}
