package dev.holdfast.lock.engine.internal.queue;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.engine.OutageBackend;
import dev.holdfast.lock.engine.SimWorld;
import dev.holdfast.lock.engine.Simulation;
import dev.holdfast.lock.engine.internal.client.EngineClient;
import dev.holdfast.lock.engine.internal.hold.Hold;
import dev.holdfast.lock.engine.internal.runtime.EngineRuntime;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.OwnerId;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** No thread can be started, as at a process limit: tasks for other threads fail, and nothing is left behind. */
class ExecutorFailureTest {
    private static final long SECOND = 1_000_000_000L;

    private final SimWorld world = new SimWorld(1);
    private final SimWorld.Machine machine = world.new Machine(1);
    private final OutageBackend backend = new OutageBackend(true, false, world::now);
    private final AtomicInteger refusals = new AtomicInteger();
    private final EngineClient client = client();

    private EngineClient client() {
        EngineRuntime plain = machine.runtime();
        Executor io = task -> {
            if (refusals.getAndDecrement() > 0) {
                throw new OutOfMemoryError("unable to create native thread, on purpose");
            }
            plain.io().execute(task);
        };
        return new EngineClient(
                        backend,
                        LockClientOptions.defaults(),
                        new EngineRuntime(
                                plain.ticker(),
                                plain.random(),
                                plain.timer(),
                                io,
                                plain.renewals(),
                                plain.callbacks(),
                                plain.events(),
                                plain.shutdown()))
                .start();
    }

    private AsyncWaiter submit(long timeoutNanos) {
        AsyncWaiter waiter = new AsyncWaiter(
                "n",
                LockOptions.defaults(),
                timeoutNanos,
                machine.nanos(),
                machine.runtime().callbacks(),
                Simulation.SimLease::new);
        client.entries().submit("n", waiter);
        world.runUntil(world.now() + SECOND);
        return waiter;
    }

    @Test
    void attempt_failsLikeAnyOther_andTheNameLives() {
        refusals.set(1);
        AsyncWaiter once = submit(0);
        assertThatThrownBy(once.future::join)
                .hasCauseInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("lock 'n': no thread could be started");
        assertThat(client.isIdle()).isTrue();
        assertThat(submit(0).state).isEqualTo(Waiter.State.GRANTED);
    }

    @Test
    void attempt_ofOneThatWaits_isRepeated() {
        refusals.set(1);
        assertThat(submit(Waiter.FOREVER).state).isEqualTo(Waiter.State.GRANTED);
    }

    @Test
    void release_elsewhere_isRepeated() {
        Hold hold = Objects.requireNonNull(submit(0).hold);
        refusals.set(2);
        hold.lock.endDropped(hold);
        world.runUntil(world.now() + SECOND);
        assertThat(client.isIdle()).isTrue();
        assertThat(refusals).as("minus one for each try, which runs elsewhere").hasValue(-1);
        assertThat(submit(0).state).isEqualTo(Waiter.State.GRANTED);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8})
    void timer_failsOnce_theNameLives(int failing) {
        for (boolean blocking : new boolean[] {false, true}) {
            OutageBackend store = new OutageBackend(blocking, false, world::now);
            AtomicInteger calls = new AtomicInteger();
            EngineRuntime plain = machine.runtime();
            EngineClient unlucky = new EngineClient(
                            store,
                            LockClientOptions.defaults(),
                            new EngineRuntime(
                                    plain.ticker(),
                                    plain.random(),
                                    (nanos, task) -> {
                                        if (calls.incrementAndGet() == failing) {
                                            throw new OutOfMemoryError("a timer, on purpose");
                                        }
                                        return plain.timer().after(nanos, task);
                                    },
                                    plain.io(),
                                    plain.renewals(),
                                    plain.callbacks(),
                                    plain.events(),
                                    plain.shutdown()))
                    .start();
            store.holders.put("n", new AcquisitionId("n", new OwnerId(1, 2)));
            AsyncWaiter first = waiter();
            AsyncWaiter second = waiter();
            inSpiteOfTheFailure(() -> unlucky.entries().submit("n", first));
            inSpiteOfTheFailure(() -> world.runUntil(world.now() + 5 * SECOND));
            store.holders.clear();
            inSpiteOfTheFailure(() -> unlucky.entries().submit("n", second));
            inSpiteOfTheFailure(() -> world.runUntil(world.now() + 60 * SECOND));
            world.runUntil(world.now() + SECOND);

            assertThat(List.of(first.state, second.state))
                    .as("failing call %s of the timer, blocking %s", failing, blocking)
                    .contains(Waiter.State.GRANTED);
        }
    }

    private AsyncWaiter waiter() {
        return new AsyncWaiter(
                "n",
                LockOptions.defaults(),
                Waiter.FOREVER,
                machine.nanos(),
                machine.runtime().callbacks(),
                Simulation.SimLease::new);
    }

    private static void inSpiteOfTheFailure(Runnable step) {
        try {
            step.run();
        } catch (OutOfMemoryError onPurpose) {
            assertThat(onPurpose).hasMessageContaining("on purpose");
        }
    }
}
