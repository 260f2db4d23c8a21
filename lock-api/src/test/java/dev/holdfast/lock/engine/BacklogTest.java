package dev.holdfast.lock.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.OwnerId;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** A client's removals and their batches complete, whatever happens to a single removal. */
class BacklogTest {
    private static final long SECOND = 1_000_000_000L;

    private final SimWorld world = new SimWorld(1);
    private final SimWorld.Machine machine = world.new Machine(1);
    private final EngineRuntime runtime = machine.runtime();
    private final InFlightRequests requests =
            new InFlightRequests(machine, new Housekeeper(machine, runtime.timer(), now -> Housekeeper.NEVER));

    @Test
    void removal_thatCannotEvenBeSent_doesNotKeepTheOthersFromBeingDone() {
        List<String> sent = new ArrayList<>();
        Backlog backlog = new Backlog(runtime, false, (removal, answered) -> {
            sent.add(removal.name());
            if (sent.size() == 1) {
                throw new IllegalStateException("on purpose");
            }
            removal.send(answered);
        });
        for (int i = 0; i < 20; i++) {
            backlog.add(removal("n" + i));
        }
        world.runUntil(world.now() + 60 * SECOND);

        assertThat(backlog.size()).isZero();
        assertThat(sent).hasSize(21);
        assertThat(requests.isIdle()).isTrue();
    }

    @Test
    void removal_thatIsConfirmedBehindItsTimeOut_isDone() {
        CompletableFuture<Void> answer = new CompletableFuture<>();
        Removal<Void> removal = removal("n", answer);
        List<Boolean> failed = new ArrayList<>();
        removal.send(failure -> failed.add(failure != null));
        requests.stallAll();
        assertThat(failed).containsExactly(true);
        assertThat(removal.isDone()).isFalse();

        answer.complete(null);
        assertThat(removal.isDone()).as("there is nothing to retry").isTrue();
        assertThat(failed).hasSize(1);
        assertThat(requests.isIdle()).isTrue();
    }

    private Removal<Void> removal(String name) {
        return removal(name, CompletableFuture.completedFuture(null));
    }

    private Removal<Void> removal(String name, CompletableFuture<Void> answer) {
        return new Removal<>(
                Removal.Kind.ABANDON,
                new AcquisitionId(name, OwnerId.random()),
                () -> answer,
                ignored -> {},
                requests,
                SECOND);
    }

    /** A driver that does not return blocks at most one thread per removal, however often the removal is retried. */
    @Test
    void removal_thatIsTriedAgainBeforeItsThreadComes_takesNoSecondOne_andIsSentOnce() {
        List<Runnable> threads = new ArrayList<>();
        List<String> reported = new ArrayList<>();
        int[] sent = {0};
        Removal<Void> removal = counted(sent);
        removal.send(threads::add, failure -> reported.add("first " + (failure == null)));
        removal.send(threads::add, failure -> reported.add("second " + (failure == null)));
        assertThat(threads).hasSize(1);
        threads.get(0).run();
        assertThat(sent[0]).isEqualTo(1);
        assertThat(reported).containsExactly("second true");
        requests.stallAll();
        assertThat(reported).as("no wait is endless").containsExactly("second true", "first false");
        assertThat(requests.isIdle()).isTrue();
    }

    @Test
    void removal_thatFailed_hasAThreadForItsNextTry_unlessItIsDoneByThen() {
        List<Runnable> threads = new ArrayList<>();
        int[] sent = {0};
        Removal<Void> removal = counted(sent);
        removal.send(
                task -> {
                    throw new OutOfMemoryError("on purpose");
                },
                failure -> {});
        removal.send(threads::add, failure -> {});
        assertThat(threads).hasSize(1);
        removal.giveUp();
        threads.get(0).run();
        assertThat(sent[0]).isZero();
        removal.send(threads::add, failure -> {});
        assertThat(threads).as("the previous one has returned").hasSize(2);
    }

    private Removal<Void> counted(int[] sent) {
        return new Removal<>(
                Removal.Kind.RELEASE,
                new AcquisitionId("n", OwnerId.random()),
                () -> {
                    sent[0]++;
                    return CompletableFuture.completedFuture(null);
                },
                ignored -> {},
                requests,
                SECOND);
    }
}
