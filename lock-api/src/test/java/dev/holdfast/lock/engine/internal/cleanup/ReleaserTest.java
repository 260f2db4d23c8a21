package dev.holdfast.lock.engine.internal.cleanup;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.LockClosedException;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.engine.LogText;
import dev.holdfast.lock.engine.OutageBackend;
import dev.holdfast.lock.engine.SimWorld;
import dev.holdfast.lock.engine.internal.runtime.Housekeeper;
import dev.holdfast.lock.engine.internal.runtime.InFlightRequests;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.support.BackgroundLog;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** Log lines about entries that could not be removed from the server, and their later removal. */
class ReleaserTest {
    private static final long MILLI = 1_000_000;

    private final SimWorld world = new SimWorld(1);
    private final SimWorld.Machine machine = world.new Machine(1);
    private final InFlightRequests requests = new InFlightRequests(
            machine, new Housekeeper(machine, machine.runtime().timer(), now -> Housekeeper.NEVER));
    private final List<@Nullable ReleaseResult> first = new ArrayList<>();
    private OutageBackend backend = new OutageBackend(false, false, world::now);
    private Releaser releaser = releaser(3_000);

    private Releaser releaser(long timeoutMillis) {
        return new Releaser(
                BackgroundLog.here(LoggerFactory.getLogger(ReleaserTest.class)),
                backend,
                machine.runtime(),
                requests,
                timeoutMillis * MILLI);
    }

    private void release(String name, long leaseMillis) {
        Grant grant = new Grant(new AcquisitionId(name, OwnerId.random()), 1, leaseMillis, null);
        releaser.release(grant, true, first::add).run();
    }

    private void pass(long millis) {
        world.runUntil(world.now() + millis * MILLI);
    }

    private static LockException closed() {
        return new LockClosedException("the connection is closed");
    }

    @Test
    void failures_areTheFirstOne_andOneLineWithTheNamesOfTheOthers() {
        backend.failure = OutageBackend::unreachable;
        String log = LogText.of(() -> {
            for (String name : List.of("a", "b", "c")) {
                release(name, 15_000);
            }
            pass(9_999);
            assertThat(releaser.waiting()).isEqualTo(3);
            pass(1);
        });
        assertThat(first).as("the result of the release: unknown").containsExactly(null, null, null);
        assertThat(log.lines())
                .satisfiesExactly(
                        one -> assertThat(one)
                                .contains("WARN")
                                .endsWith("lock 'a': connection refused: release is retried in the background until the"
                                        + " store confirms it"),
                        then -> assertThat(then)
                                .contains("WARN")
                                .endsWith(
                                        "lock client of outage: within 10.0 s the store did not confirm 2 more releases"
                                                + " and abandonments, first those of 'b', 'c'; 3 are retried; the latest: lock"
                                                + " 'c': connection refused: release"));
        backend.failure = null;
        assertThat(LogText.of(() -> pass(60_000))).isEmpty();
        assertThat(releaser.waiting()).isZero();
        assertThat(requests.isIdle()).isTrue();
    }

    @Test
    void abandonmentThatFails_isToldByThatWord_andSummedUpAtTheClose() {
        backend.failure = OutageBackend::unreachable;
        String log = LogText.of(() -> {
            releaser.abandon(new AcquisitionId("a", OwnerId.random()), 15_000).run();
            release("b", 15_000);
            releaser.close();
        });
        assertThat(log.lines())
                .satisfiesExactly(
                        one -> assertThat(one).contains("'a': connection refused: abandon is retried"),
                        then -> assertThat(then).contains("1 more releases and abandonments, first those of 'b'"));
        assertThat(releaser.waiting()).isZero();
        assertThat(requests.isIdle()).isTrue();
    }

    /** Its lease expires before the next try. */
    @Test
    void refusalThatIsNotWorthAnotherTry_isGivenUp_andToldSo() {
        backend = new OutageBackend(false, true, world::now);
        releaser = releaser(200);
        backend.failure = OutageBackend::noPermission;
        String log = LogText.of(() -> release("a", 500));
        assertThat(log.lines())
                .singleElement()
                .asString()
                .contains("WARN")
                .endsWith("lock 'a': no permission: release is given up; the store's entry ends with its lease");
        assertThat(releaser.waiting()).isZero();
        assertThat(requests.isIdle()).isTrue();
    }

    @Test
    void closedConnection_isToldForEach_untilTheClientClosesItself_andThenCounted() {
        backend.failure = ReleaserTest::closed;
        String log = LogText.of(() -> {
            release("a", 15_000);
            release("b", 15_000);
        });
        assertThat(log.lines()).hasSize(2).allMatch(line -> line.contains("WARN"));
        assertThat(log)
                .contains("lock 'a': the connection is closed; the store's entry ends with its lease")
                .contains("lock 'b': the connection is closed; the store's entry ends with its lease");
        assertThat(releaser.unreachable()).isZero();

        releaser.closing();
        assertThat(LogText.of(() -> release("c", 15_000))).isEmpty();
        assertThat(releaser.unreachable()).isEqualTo(1);
        int removals = backend.removals;
        pass(60_000);
        assertThat(backend.removals).as("not retried").isEqualTo(removals);
        assertThat(requests.isIdle()).isTrue();
    }

    /** If no entry can be left, no line is logged, and it does not count as the first of a series. */
    @Test
    void abandonmentOfARefusedAttempt_thatFails_isNotToldOf() {
        backend.failure = OutageBackend::noPermission;
        AcquisitionId refused = new AcquisitionId("a", OwnerId.random());
        assertThat(LogText.of(() -> releaser.abandonRefused(refused, 15_000).run()))
                .isEmpty();
        assertThat(backend.removals).isEqualTo(1);
        assertThat(LogText.of(() -> release("b", 15_000))).contains("'b': no permission: release is retried");
    }

    @Test
    void store_isToldForHowLongItsAnswerIsWaitedFor() {
        List<Long> reported = new ArrayList<>();
        backend = new OutageBackend(false, false, world::now) {
            @Override
            public CompletionStage<ReleaseResult> release(Grant grant, long timeoutMillis) {
                reported.add(timeoutMillis);
                return super.release(grant, timeoutMillis);
            }

            @Override
            public CompletionStage<Void> abandon(AcquisitionId acquisition, long timeoutMillis) {
                reported.add(timeoutMillis);
                return super.abandon(acquisition, timeoutMillis);
            }
        };
        releaser = releaser(3_000);
        release("a", 15_000);
        releaser.abandon(new AcquisitionId("b", OwnerId.random()), 15_000).run();
        assertThat(reported).containsExactly(3_000L, 3_000L);
    }
}
