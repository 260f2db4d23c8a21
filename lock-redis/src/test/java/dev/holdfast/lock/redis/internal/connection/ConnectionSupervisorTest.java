package dev.holdfast.lock.redis.internal.connection;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.LockClosedException;
import dev.holdfast.lock.testkit.support.LogCapture;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisCommandTimeoutException;
import io.lettuce.core.RedisConnectionException;
import io.lettuce.core.RedisException;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** When the connection is replaced, how often that is tried, and what callers get meanwhile: without a server. */
final class ConnectionSupervisorTest {
    private static final long MILLI = 1_000_000;
    private static final long SECOND = 1_000 * MILLI;
    private static final Throwable SILENCE = new TimeoutException("made up by the test; expect it");
    private static final Throwable BROKEN = new RedisException("made up by the test; expect it");
    private static final RedisCommandExecutionException ANSWER = new RedisCommandExecutionException("ERR");
    private static final RedisConnectionException REFUSAL =
            new RedisConnectionException("cannot", new RedisCommandExecutionException("WRONGPASS; expect it"));

    private final AtomicLong nanos = new AtomicLong(Long.MAX_VALUE - 100);

    /** What was done, in its order: connections have numbers. */
    private final List<String> done = new CopyOnWriteArrayList<>();

    private final List<StatefulConnection<String, String>> connections = new CopyOnWriteArrayList<>();
    private final StubFactory factory = StubFactory.linking(this::connect);
    private volatile @Nullable Throwable unreachable;
    private volatile boolean closedByTheUser;
    private volatile boolean isTheUsers;

    private ConnectionFactory.Link connect() {
        Throwable failure = unreachable;
        if (failure != null) {
            done.add("try");
            if (failure instanceof Error error) {
                throw error;
            }
            throw (RuntimeException) failure;
        }
        int number = connections.size() + 1;
        done.add("connect " + number);
        RedisClusterAsyncCommands<String, String> commands =
                Stubs.of(RedisClusterAsyncCommands.class, (method, arguments) -> Stubs.unexpected(method));
        StatefulConnection<String, String> connection =
                Stubs.of(StatefulConnection.class, (method, arguments) -> switch (method) {
                    case "closeAsync" -> {
                        done.add("close " + number);
                        yield CompletableFuture.completedFuture(null);
                    }
                    default -> Stubs.unexpected(method);
                });
        connections.add(connection);
        return new ConnectionFactory.Link(
                commands,
                () -> done.add("look " + number),
                key -> CompletableFuture.completedStage(commands),
                key -> key,
                () -> closedByTheUser || done.contains("close " + number),
                isTheUsers ? null : connection);
    }

    private ConnectionSupervisor keeper() {
        return new ConnectionSupervisor(factory, nanos::get);
    }

    private void pass(long nanoseconds) {
        nanos.addAndGet(nanoseconds);
    }

    private void assertDone(String... expected) {
        StubFactory.settle();
        assertThat(done).containsExactly(expected);
    }

    private static void end(ConnectionSupervisor keeper, @Nullable Throwable... failures) {
        for (Throwable failure : failures) {
            keeper.ended(keeper.link(), "server", failure);
        }
    }

    @Test
    void wrongServer_isLeftAtOnce_thenOnceIn100MillisecondsAtMost_onAThreadOfItsOwn() {
        ConnectionSupervisor keeper = keeper();
        ConnectionFactory.Link first = keeper.link();
        keeper.wrongServer(first);
        assertDone("connect 1", "connect 2", "close 1");
        assertThat(factory.connecting).last().isEqualTo("holdfast-redis-connect, a daemon");
        assertThat(keeper.link()).isNotSameAs(first);
        assertThat(factory.closed).as("by the factory, which would wait for it").isEmpty();

        pass(100 * MILLI - 1);
        keeper.wrongServer(keeper.link());
        pass(1);
        keeper.wrongServer(first);
        assertDone("connect 1", "connect 2", "close 1");
        keeper.wrongServer(keeper.link());
        assertDone("connect 1", "connect 2", "close 1", "connect 3", "close 2");
    }

    /** Its connection leads to all servers; that of a key is looked for. */
    @Test
    void wrongServerOfACluster_isLookedForAtOnce_thenOnceIn100MillisecondsAtMost() {
        factory.cluster = true;
        ConnectionSupervisor keeper = keeper();
        keeper.wrongServer(keeper.link());
        keeper.wrongServer(keeper.link());
        pass(100 * MILLI - 1);
        keeper.wrongServer(keeper.link());
        assertDone("connect 1", "look 1");
        pass(1);
        keeper.wrongServer(keeper.link());
        assertDone("connect 1", "look 1", "look 1");
    }

    @Test
    void silentServer_isLeftAfterThreeRequestsAndTwoSeconds_unlessItAnswers() {
        ConnectionSupervisor keeper = keeper();
        pass(60 * SECOND);
        end(keeper, SILENCE, SILENCE);
        assertDone("connect 1");
        end(keeper, (Throwable) null);
        pass(60 * SECOND);
        end(keeper, SILENCE, SILENCE);
        assertDone("connect 1");
        end(keeper, ANSWER);
        end(keeper, SILENCE, SILENCE);
        pass(2 * SECOND);
        end(keeper, SILENCE);
        assertDone("connect 1");
        pass(1);
        keeper.ended(keeper.link(), "another server", null);
        keeper.ended(keeper.link(), "another server", SILENCE);
        assertDone("connect 1");

        end(keeper, new RedisCommandTimeoutException("made up by the test; expect it"));

        assertDone("connect 1", "connect 2", "close 1");
        keeper.wrongServer(keeper.link());
        assertDone("connect 1", "connect 2", "close 1");
        end(keeper, SILENCE);
        pass(3 * SECOND);
        end(keeper, SILENCE);
        assertDone("connect 1", "connect 2", "close 1");
        end(keeper, SILENCE);
        assertDone("connect 1", "connect 2", "close 1", "connect 3", "close 2");
    }

    @Test
    void silenceOfAnEarlierConnection_leavesThePresentOne_whichCanBeReplacedStill() {
        ConnectionSupervisor keeper = keeper();
        ConnectionFactory.Link first = keeper.link();
        keeper.wrongServer(first);
        assertDone("connect 1", "connect 2", "close 1");
        keeper.ended(first, "server", SILENCE);
        pass(3 * SECOND);
        keeper.ended(first, "server", SILENCE);
        keeper.ended(first, "server", SILENCE);
        assertDone("connect 1", "connect 2", "close 1");

        keeper.wrongServer(keeper.link());

        assertDone("connect 1", "connect 2", "close 1", "connect 3", "close 2");
    }

    /** Replies of its other servers may be in flight to the old connection. */
    @Test
    void silentServerOfACluster_itsSuccessorIsLookedForFirst_andTheOldConnectionStaysForAWhile() {
        factory.cluster = true;
        ConnectionSupervisor keeper = keeper();
        end(keeper, SILENCE, SILENCE);
        pass(2 * SECOND + 1);
        end(keeper, SILENCE);
        assertDone("connect 1", "look 1", "connect 2");
    }

    @Test
    void connectionThatIsDown_hasASecondToComeBackByItself() {
        ConnectionSupervisor keeper = keeper();
        ConnectionFactory.Link first = keeper.link();
        end(keeper, BROKEN);
        pass(SECOND);
        end(keeper, BROKEN);
        assertDone("connect 1");
        end(keeper, (Throwable) null);
        pass(1);
        end(keeper, BROKEN);
        pass(SECOND);
        end(keeper, BROKEN);
        assertDone("connect 1");
        pass(1);
        end(keeper, BROKEN);
        assertDone("connect 1", "connect 2", "close 1");

        assertThat(keeper.told(first, BROKEN))
                .as("of the one that we have closed")
                .isSameAs(BROKEN);
        keeper.ended(first, "server", BROKEN);
        pass(SECOND + 1);
        end(keeper, BROKEN);
        assertDone("connect 1", "connect 2", "close 1");
    }

    @Test
    void connectionOfTheUser_isNeitherReplacedNorClosed() {
        factory.connects = false;
        isTheUsers = true;
        ConnectionSupervisor keeper = keeper();
        keeper.wrongServer(keeper.link());
        end(keeper, BROKEN);
        pass(2 * SECOND);
        end(keeper, BROKEN, SILENCE, SILENCE);
        pass(3 * SECOND);
        end(keeper, SILENCE);
        keeper.close();
        assertDone("connect 1");
        assertThat(factory.closed).isEmpty();
    }

    @Test
    void connectionThatTheUserHasClosed_isToldAsThat_andNotReplaced() {
        ConnectionSupervisor keeper = keeper();
        assertThat(keeper.isGone(keeper.link())).isFalse();
        assertThat(keeper.told(keeper.link(), BROKEN)).isSameAs(BROKEN);
        closedByTheUser = true;
        end(keeper, BROKEN);
        pass(SECOND + 1);
        end(keeper, BROKEN);
        assertDone("connect 1");
        assertThat(keeper.isGone(keeper.link())).isTrue();
        assertThat(keeper.told(keeper.link(), BROKEN))
                .isInstanceOf(LockClosedException.class)
                .hasMessage("the connection to Redis was closed before the lock client; close the lock client first")
                .hasCause(BROKEN);

        keeper.close();

        assertThat(keeper.isGone(keeper.link())).as("it was closed by us").isFalse();
        assertThat(keeper.told(keeper.link(), BROKEN)).isSameAs(BROKEN);
    }

    @Test
    void refusedPassword_isToldToWhoeverFails_untilTheServerAnswers() {
        try (LogCapture log = new LogCapture()) {
            ConnectionSupervisor keeper = keeper();
            unreachable = REFUSAL;
            keeper.wrongServer(keeper.link());
            assertDone("connect 1", "try");
            assertThat(factory.refusals).containsExactly(true);
            assertThat(keeper.told(keeper.link(), BROKEN)).isSameAs(REFUSAL);
            assertThat(keeper.told(keeper.link(), ANSWER)).isSameAs(ANSWER);

            end(keeper, (Throwable) null);
            assertThat(keeper.told(keeper.link(), BROKEN)).isSameAs(BROKEN);
            pass(100 * MILLI);
            keeper.wrongServer(keeper.link());
            assertDone("connect 1", "try", "try");
            assertThat(keeper.told(keeper.link(), BROKEN)).isSameAs(REFUSAL);
            unreachable = null;
            pass(SECOND);
            keeper.wrongServer(keeper.link());
            assertDone("connect 1", "try", "try", "connect 2", "close 1");
            assertThat(factory.refusals).containsExactly(true, true, false);
            assertThat(keeper.told(keeper.link(), BROKEN)).isSameAs(BROKEN);
            assertThat(log.ours()).isEmpty();
        }
    }

    @Test
    void serverThatIsAway_isNoRefusal() {
        ConnectionSupervisor keeper = keeper();
        unreachable = new RedisConnectionException("made up by the test; expect it");
        keeper.wrongServer(keeper.link());
        assertDone("connect 1", "try");
        assertThat(factory.refusals).containsExactly(false);
        assertThat(keeper.told(keeper.link(), BROKEN)).isSameAs(BROKEN);
        keeper.close();
        assertThat(factory.closed).containsExactlyElementsOf(connections);
    }

    @Test
    void repliesOfOtherCommands_theConnectionIsReplacedAtOnce() {
        ConnectionSupervisor keeper = keeper();
        end(keeper, new RepliesInOrder.OutOfOrderException());
        assertDone("connect 1", "connect 2", "close 1");
    }

    /** Otherwise the thread would end with it, and report it to the application's handler. */
    @Test
    void noMemoryToConnect_isTriedAgain_andEndsNoThread() {
        List<Throwable> uncaught = new CopyOnWriteArrayList<>();
        Thread.UncaughtExceptionHandler before = Thread.getDefaultUncaughtExceptionHandler();
        Thread.setDefaultUncaughtExceptionHandler((thread, failure) -> uncaught.add(failure));
        try {
            ConnectionSupervisor keeper = keeper();
            unreachable = new OutOfMemoryError("made up by the test; expect it");
            keeper.wrongServer(keeper.link());
            assertDone("connect 1", "try");
            assertThat(uncaught).isEmpty();
            unreachable = null;
            pass(SECOND);
            keeper.wrongServer(keeper.link());
            assertDone("connect 1", "try", "connect 2", "close 1");
        } finally {
            Thread.setDefaultUncaughtExceptionHandler(before);
        }
    }

    /** A pause is shorter than its length by up to a quarter, and the next one twice as long, up to five seconds. */
    @Test
    void tries_areMadeLessAndLessOften_untilOneWorks() {
        ConnectionSupervisor keeper = keeper();
        unreachable = REFUSAL;
        List<String> expected = new ArrayList<>(List.of("connect 1", "try"));
        keeper.wrongServer(keeper.link());
        assertDone(expected.toArray(String[]::new));
        long[][] pauses = {{750, 1_000}, {1_125, 2_000}, {1_687, 4_000}, {2_530, 5_000}, {3_750, 5_000}, {3_750, 5_000}
        };
        for (long[] pause : pauses) {
            pass(pause[0] * MILLI);
            keeper.wrongServer(keeper.link());
            assertDone(expected.toArray(String[]::new));
            pass((pause[1] - pause[0]) * MILLI);
            keeper.wrongServer(keeper.link());
            expected.add("try");
            assertDone(expected.toArray(String[]::new));
        }
        unreachable = null;
        pass(5 * SECOND);
        keeper.wrongServer(keeper.link());
        expected.addAll(List.of("connect 2", "close 1"));
        assertDone(expected.toArray(String[]::new));
        pass(100 * MILLI);
        keeper.wrongServer(keeper.link());
        expected.addAll(List.of("connect 3", "close 2"));
        assertDone(expected.toArray(String[]::new));
    }

    /** It is down when the server refuses, and then it has its second again. */
    @Test
    void connectionThatIsDown_isTriedASecondAfterTheLastTry() {
        ConnectionSupervisor keeper = keeper();
        unreachable = REFUSAL;
        end(keeper, BROKEN);
        pass(SECOND + 1);
        end(keeper, BROKEN);
        assertDone("connect 1", "try");
        pass(SECOND);
        end(keeper, BROKEN);
        assertDone("connect 1", "try");
        pass(SECOND + 1);
        end(keeper, BROKEN);
        assertDone("connect 1", "try", "try");
    }

    @Test
    void end_closesTheConnection_andNothingIsReplacedAnyMore() {
        ConnectionSupervisor keeper = keeper();
        keeper.close();
        assertThat(factory.closed).containsExactlyElementsOf(connections);
        keeper.wrongServer(keeper.link());
        assertDone("connect 1");
    }
}
