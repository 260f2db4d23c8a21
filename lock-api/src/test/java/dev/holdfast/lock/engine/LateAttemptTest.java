package dev.holdfast.lock.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.Ticket;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** A thread is paused between the decision to send an attempt and the send; meanwhile the acquisition is abandoned. */
class LateAttemptTest {
    private static final long SECOND = 1_000_000_000;

    private record Place(OwnerId owner) implements Ticket {}

    private final SimWorld world = new SimWorld(1);
    private final SimWorld.Machine machine = world.new Machine(1);
    private final InlineBackend backend = new InlineBackend(true);
    private final EngineClient client =
            new EngineClient(backend, LockClientOptions.defaults(), machine.runtime()).start();
    private final CompletableFuture<AcquireResult> answer = new CompletableFuture<>();
    private final AsyncWaiter waiter = new AsyncWaiter(
            "n",
            LockOptions.defaults(),
            Waiter.FOREVER,
            machine.nanos(),
            machine.runtime().callbacks(),
            Simulation.SimLease::new);

    @Test
    void attempt_sentAfterItsAbandonment_isAbandonedAgainAtOnce() {
        backend.attemptAnswer = answer;
        world.after(machine, SECOND, () -> cancel(waiter));
        backend.beforeAttempt = () -> world.standStill(10 * SECOND);
        client.entries().submit("n", waiter);

        assertThat(waiter.state).isEqualTo(Waiter.State.CANCELLED);
        assertThat(backend.calls).containsExactly("abandon", "attempt", "abandon");
    }

    @Test
    void answer_busyWithATicketForAnEndedAcquisition_isAbandonedAgain() {
        AcquisitionId acquisition = submitAndCancel();
        answer.complete(new AcquireResult.Busy(-1, new Place(acquisition.owner())));
        assertThat(backend.abandoned).containsExactly(acquisition, acquisition);
    }

    @Test
    void answer_grantedForAnEndedAcquisition_isAbandonedAgain() {
        AcquisitionId acquisition = submitAndCancel();
        answer.complete(new AcquireResult.Granted(new Grant(acquisition, 1, 15_000, null)));
        assertThat(backend.abandoned).containsExactly(acquisition, acquisition);
    }

    @Test
    void answer_thatCannotHaveLeftAnything_isNotAbandonedAgain() {
        AcquisitionId acquisition = submitAndCancel();
        answer.complete(new AcquireResult.Busy(-1, null));
        assertThat(backend.abandoned).containsExactly(acquisition);
    }

    @Test
    void answer_busyWithATicketAfterClose_isAbandonedAgain() {
        backend.attemptAnswer = answer;
        client.entries().submit("n", waiter);
        AcquisitionId acquisition = backend.attempted.get(0);
        client.beginClose();
        assertThat(backend.abandoned).containsExactly(acquisition);

        answer.complete(new AcquireResult.Busy(-1, new Place(acquisition.owner())));
        assertThat(backend.abandoned).containsExactly(acquisition, acquisition);
    }

    @Test
    void failure_afterAnAbandonmentThatFollowedTheSend_isNotAbandonedAgain() {
        AcquisitionId acquisition = submitAndCancel();
        answer.completeExceptionally(new LockUnavailableException("on purpose"));
        assertThat(backend.abandoned).as("the store guaranteed it").isEqualTo(List.of(acquisition));
    }

    private AcquisitionId submitAndCancel() {
        backend.attemptAnswer = answer;
        client.entries().submit("n", waiter);
        cancel(waiter);
        world.runUntil(world.now() + 10 * SECOND); // until the attempt counts as unanswered
        AcquisitionId acquisition = backend.attempted.get(0);
        assertThat(backend.abandoned).containsExactly(acquisition);
        return acquisition;
    }

    private void cancel(Waiter leaving) {
        LockEntry entry = client.entries().find("n");
        assertThat(entry).isNotNull();
        entry.cancel(leaving);
    }
}
