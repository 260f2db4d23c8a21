package dev.holdfast.lock.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.LockException;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.OwnerId;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tries of a removal on a thread that is still blocked in the previous one. */
@Timeout(30)
class RemovalTest {
    private static final long TIMEOUT_NANOS = Virtual.SECOND;

    private final SimWorld world = new SimWorld(1);
    private final SimWorld.Machine machine = world.new Machine(1);
    private final EngineRuntime runtime = machine.runtime();
    private final InFlightRequests requests = inFlight();
    private final Queue<Runnable> threads = new ArrayDeque<>();
    private final Queue<Runnable> duringRequests = new ArrayDeque<>();
    private final List<@Nullable LockException> answers = new ArrayList<>();
    private int sent;
    private boolean confirms;
    private final Removal<Void> removal = new Removal<>(
            Removal.Kind.ABANDON,
            new AcquisitionId("n", OwnerId.random()),
            this::request,
            ignored -> {},
            requests,
            TIMEOUT_NANOS);

    private InFlightRequests inFlight() {
        InFlightRequests[] made = new InFlightRequests[1];
        made[0] = new InFlightRequests(machine, new Housekeeper(machine, runtime.timer(), now -> made[0].sweep(now)));
        return made[0];
    }

    private CompletionStage<Void> request() {
        sent++;
        Runnable meanwhile = duringRequests.poll();
        if (meanwhile != null) {
            meanwhile.run();
        }
        return confirms
                ? CompletableFuture.completedStage(null)
                : CompletableFuture.failedStage(OutageBackend.unreachable());
    }

    private void send() {
        removal.send(threads::add, answers::add);
    }

    private void runThread() {
        Objects.requireNonNull(threads.poll()).run();
    }

    @Test
    void tryThatIsDecidedOn_whileTheThreadIsInTheOneBefore_isMadeByThatThread() {
        duringRequests.add(() -> {
            send();
            assertThat(threads).as("one is running").isEmpty();
        });
        send();
        runThread();
        assertThat(sent).isEqualTo(2);
        assertThat(answers).hasSize(2).doesNotContainNull();
        assertThat(threads).isEmpty();

        confirms = true;
        send();
        runThread();
        assertThat(sent).isEqualTo(3);
        assertThat(removal.isDone()).isTrue();
        assertThat(requests.isIdle()).isTrue();
    }

    /** A try fails in time without a thread, and only the latest one is made when the thread returns. */
    @Test
    void triesThatTheThreadDoesNotComeTo_failInTime_andOnlyTheLatestIsMade() {
        duringRequests.add(() -> {
            for (int i = 0; i < 3; i++) {
                send();
                world.runUntil(world.now() + 2 * TIMEOUT_NANOS);
            }
        });
        send();
        runThread();
        assertThat(answers).as("each once").hasSize(4).doesNotContainNull();
        assertThat(sent).isEqualTo(2);
    }

    @Test
    void tryBehindTheOneThatWasConfirmed_isNotMade() {
        confirms = true;
        duringRequests.add(this::send);
        send();
        runThread();
        assertThat(sent).isEqualTo(1);
        assertThat(removal.isDone()).isTrue();
    }

    @Test
    void tryWithoutAThread_fails_andTheNextOneHasIt() {
        removal.send(
                task -> {
                    throw new RejectedExecutionException("on purpose");
                },
                answers::add);
        assertThat(answers)
                .singleElement()
                .satisfies(failure -> assertThat(failure).hasMessageContaining("'n'"));
        assertThat(sent).isZero();
        send();
        runThread();
        assertThat(sent).isEqualTo(1);
    }
}
