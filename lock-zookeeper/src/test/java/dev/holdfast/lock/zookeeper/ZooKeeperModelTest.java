package dev.holdfast.lock.zookeeper;

import static dev.holdfast.lock.testkit.BackendDriver.TIMEOUT_MILLIS;
import static dev.holdfast.lock.testkit.BackendDriver.WAIT_MILLIS;
import static dev.holdfast.lock.testkit.BackendDriver.answer;
import static dev.holdfast.lock.zookeeper.ZooKeeperFixture.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.BackendDriver;
import dev.holdfast.lock.testkit.ModelTrace;
import dev.holdfast.lock.testkit.server.Direction;
import dev.holdfast.lock.testkit.server.FaultProxy;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Each request to a real server is a step of models/zookeeper.table, from which the Promela model is made: three
 * contenders in any order, each with its own session, requests of ended acquisitions, and sessions that the server
 * ends. The queue is read before and after each step. As in the model, a contender ends with its session; then another
 * one starts.
 */
final class ZooKeeperModelTest {
    private static final int STEPS = 300;
    private static final int END_OF_SESSION = 15;
    private static final String NAME = "model";
    private static final List<String> EVENTS = List.of("attempt", "renew", "release", "abandon");
    private static final Path TABLE = Path.of("..", "models", "zookeeper.table");

    private final Random random = new Random(26);
    private final List<Contender> contenders = new ArrayList<>();
    private ZooKeeperFixture fixture;

    /** A client and its current acquisition. */
    private final class Contender implements AutoCloseable {
        final FaultProxy proxy = fixture.proxies().get(0).another();
        final ZooKeeperLockBackend backend = (ZooKeeperLockBackend) fixture.newBackend(List.of(proxy));
        BackendDriver driver = BackendDriver.of(backend, NAME);
        Grant grant;

        Contender() throws Exception {
            answer(backend.holder(NAME, TIMEOUT_MILLIS));
        }

        void begin() {
            driver = BackendDriver.of(backend, NAME);
            grant = null;
        }

        String owner() {
            return driver.acquisition().owner().toString();
        }

        /** A held lock would keep the session longer than the backend, and the server is stopped then. */
        @Override
        public void close() throws Exception {
            if (grant != null) {
                BackendDriver.release(backend, grant);
            }
            backend.close();
            proxy.close();
        }
    }

    /** The nodes in the queue, in their order. */
    private record Seen(List<String> queue) {
        String lockNode(String owner) {
            return queue.isEmpty() || queue.get(0).startsWith(owner) ? "first" : "behind";
        }

        String node(String owner) {
            return mine(owner).isEmpty() ? "none" : "mine";
        }

        List<String> mine(String owner) {
            return queue.stream().filter(node -> node.startsWith(owner)).toList();
        }
    }

    @BeforeEach
    void start() throws Exception {
        fixture = ZooKeeperFixture.single();
        for (int i = 0; i < 3; i++) {
            contenders.add(new Contender());
        }
    }

    @AfterEach
    void stop() throws Exception {
        for (Contender contender : contenders) {
            contender.close();
        }
        fixture.close();
    }

    private Seen look() throws Exception {
        return new Seen(fixture.queue(NAME).stream().map(SequentialNode::name).toList());
    }

    @Test
    void everyStep_isOneOfTheModel() throws Exception {
        ModelTrace trace = ModelTrace.of(TABLE);
        for (int i = 1; i <= STEPS; i++) {
            boolean over = i % END_OF_SESSION == 0;
            String event = EVENTS.get(over ? i / END_OF_SESSION % EVENTS.size() : random.nextInt(EVENTS.size()));
            Contender asking = contenders.get(random.nextInt(contenders.size()));
            if (event.equals("renew") || event.equals("release")) { // sent by a client that was granted
                asking = contenders.stream()
                        .filter(one -> one.grant != null)
                        .findAny()
                        .orElse(asking);
            }
            if (asking.grant == null && !event.equals("abandon")) {
                event = "attempt";
            }
            if (over) {
                takeAfterEnd(trace, event, asking);
            } else {
                take(trace, event, asking);
            }
        }

        trace.assertEachStepIsOfTheModel();
        assertThat(trace.rowsNotMet()).isEmpty();
        assertThat(trace.size()).as("steps").isGreaterThan(STEPS / 2);
        assertThat(trace.assertChangedStepsAreRefused())
                .as("changed steps, all refused")
                .isPositive();
    }

    /** The comparison refuses a server that grants a held lock. */
    @Test
    void brokenServer_isRefused() throws Exception {
        ModelTrace trace = ModelTrace.of(TABLE);
        Contender other = contenders.get(1);
        take(trace, "attempt", contenders.get(0));
        Seen before = look();
        fixture.expire(NAME);
        trace.add(step("attempt", "lives", other.owner(), before, send("attempt", other), look()));

        assertThatThrownBy(trace::assertEachStepIsOfTheModel)
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("zookeeper.table does not allow step 1");
    }

    private void take(ModelTrace trace, String event, Contender asking) throws Exception {
        Seen before = look();
        if (event.equals("attempt") && before.mine(asking.owner()).isEmpty() && random.nextBoolean()) {
            asking.begin(); // or repeats the same acquisition
        }
        String answer = send(event, asking);
        trace.add(step(event, "lives", asking.owner(), before, answer, look()));
    }

    /**
     * A request that is in flight when the server ends the session. Requests other than attempts are sent when the
     * client has noticed the end.
     */
    private void takeAfterEnd(ModelTrace trace, String event, Contender asking) throws Exception {
        Session former = asking.backend.session();
        String answer;
        Seen before;
        if (event.equals("attempt")) {
            asking.proxy.hold(Direction.TO_SERVER);
            CompletionStage<AcquireResult> sent = asking.driver.send(WAIT_MILLIS);
            Faults.expireByServer(fixture, asking.backend);
            before = look();
            asking.proxy.pass();
            answer = answerOf(sent);
            awaitNextSession(asking, former);
        } else {
            Faults.expireByServer(fixture, asking.backend);
            awaitNextSession(asking, former);
            before = look();
            answer = send(event, asking);
        }
        trace.add(step(event, "over", asking.owner(), before, answer, look()));
        asking.begin();
    }

    private static void awaitNextSession(Contender asking, Session former) {
        await().atMost(PATIENCE).ignoreExceptions().until(() -> asking.backend.session() != former);
        await().atMost(PATIENCE)
                .ignoreExceptions()
                .until(() -> answer(asking.backend.holder("next session", TIMEOUT_MILLIS))
                        .isEmpty());
    }

    private static String answerOf(CompletionStage<AcquireResult> sent) {
        try {
            return answer(sent) instanceof AcquireResult.Granted ? "granted" : "busy";
        } catch (LockUnavailableException e) {
            return "lost";
        }
    }

    private static String send(String event, Contender asking) {
        switch (event) {
            case "attempt" -> {
                if (asking.driver.tryAcquire(WAIT_MILLIS) instanceof AcquireResult.Granted granted) {
                    asking.grant = granted.grant();
                    return "granted";
                }
                asking.grant = null; // of an earlier attempt of this acquisition, if any
                return "busy";
            }
            case "renew" -> {
                return BackendDriver.renew(asking.backend, asking.grant) instanceof RenewResult.Renewed
                        ? "renewed"
                        : "lost";
            }
            case "release" -> {
                return BackendDriver.release(asking.backend, asking.grant) == ReleaseResult.RELEASED
                        ? "released"
                        : "notheld";
            }
            default -> {
                asking.driver.abandon();
                return "done";
            }
        }
    }

    /** Pings keep a live session alive. An ended session stays ended. */
    private static ModelTrace.Step step(
            String event, String session, String owner, Seen before, String answer, Seen after) {
        List<String> mine = after.mine(owner);
        boolean othersStay =
                before.queue().stream().filter(node -> !node.startsWith(owner)).allMatch(after.queue()::contains);
        String node =
                !othersStay ? "others" : mine.equals(before.mine(owner)) ? "same" : mine.isEmpty() ? "gone" : "made";
        return new ModelTrace.Step(
                event,
                Map.of("session", session, "node", before.node(owner), "place", before.lockNode(owner)),
                answer,
                Map.of("node", Set.of(node), "session", Set.of(session.equals("lives") ? "heard" : "same")));
    }
}
