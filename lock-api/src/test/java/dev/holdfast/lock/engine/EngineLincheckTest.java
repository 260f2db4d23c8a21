package dev.holdfast.lock.engine;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.engine.internal.client.EngineClient;
import dev.holdfast.lock.engine.internal.client.InlineBackend;
import dev.holdfast.lock.engine.internal.hold.Hold;
import dev.holdfast.lock.engine.internal.queue.AsyncWaiter;
import dev.holdfast.lock.engine.internal.queue.LockEntry;
import dev.holdfast.lock.engine.internal.queue.Waiter;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jetbrains.kotlinx.lincheck.Actor;
import org.jetbrains.kotlinx.lincheck.execution.ExecutionScenario;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.jetbrains.lincheck.datastructures.StressOptions;
import org.jetbrains.lincheck.datastructures.ThreadIdGen;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/**
 * The local queue, hand-off and cancellation are linearizable: every concurrent run looks like some sequential run of {@link
 * FifoLock}. Each Lincheck thread is one asynchronous caller. {@code -Dholdfast.lincheck.runs=N} sets how often each of its
 * scenarios is run: their threads spin while they wait, which is slow on a busy machine.
 */
@DisplayName("The local queue")
public class EngineLincheckTest {
    private static final int RUNS = Integer.getInteger("holdfast.lincheck.runs", 250);

    private final EngineClient client = InlineBackend.client();
    private final AtomicReferenceArray<AsyncWaiter> callers = new AtomicReferenceArray<>(8);

    private boolean submit(int caller, long timeoutNanos) {
        if (callers.get(caller) != null) {
            return false;
        }
        AsyncWaiter waiter = new AsyncWaiter(
                "n",
                LockOptions.defaults(),
                timeoutNanos,
                System.nanoTime(),
                Runnable::run,
                hold -> new Simulation.SimLease(hold));
        callers.set(caller, waiter);
        client.entries().submit("n", waiter);
        while (waiter.state == Waiter.State.WAITING
                && !client.engine().requests().isIdle()) {
            Thread.onSpinWait(); // it may depend on an attempt that another thread is about to make
        }
        if (waiter.state == Waiter.State.BUSY) {
            callers.set(caller, null);
            return false;
        }
        return true;
    }

    @Operation
    public boolean tryAcquire(@Param(gen = ThreadIdGen.class) int caller) {
        return submit(caller, 0);
    }

    @Operation
    public boolean enqueue(@Param(gen = ThreadIdGen.class) int caller) {
        return submit(caller, Waiter.FOREVER);
    }

    @Operation
    public boolean release(@Param(gen = ThreadIdGen.class) int caller) {
        AsyncWaiter waiter = callers.get(caller);
        if (waiter == null || waiter.state != Waiter.State.GRANTED) {
            return false;
        }
        Hold hold = Objects.requireNonNull(waiter.hold);
        hold.lock.end(hold);
        callers.set(caller, null);
        return true;
    }

    @Operation
    public boolean cancel(@Param(gen = ThreadIdGen.class) int caller) {
        AsyncWaiter waiter = callers.get(caller);
        if (waiter == null || waiter.state == Waiter.State.GRANTED) {
            return false;
        }
        LockEntry entry = client.entries().find("n");
        boolean cancelled = entry != null && entry.cancel(waiter);
        if (cancelled) {
            callers.set(caller, null);
        }
        return cancelled;
    }

    /** The correct model. */
    public static class FifoLock {
        private final Map<Integer, Boolean> grantedByCaller = new HashMap<>();
        final Deque<Integer> queue = new ArrayDeque<>();
        private boolean held;

        public boolean tryAcquire(int caller) {
            if (grantedByCaller.containsKey(caller) || held) {
                return false;
            }
            held = true;
            grantedByCaller.put(caller, true);
            return true;
        }

        public boolean enqueue(int caller) {
            if (grantedByCaller.containsKey(caller)) {
                return false;
            }
            grantedByCaller.put(caller, !held);
            if (held) {
                queue.add(caller);
            }
            held = true;
            return true;
        }

        public boolean release(int caller) {
            if (!grantedByCaller.getOrDefault(caller, false)) {
                return false;
            }
            grantedByCaller.remove(caller);
            held = !queue.isEmpty();
            if (held) {
                grantedByCaller.put(next(), true);
            }
            return true;
        }

        int next() {
            return queue.removeFirst();
        }

        public boolean cancel(int caller) {
            boolean waits = queue.remove((Object) caller);
            if (waits) {
                grantedByCaller.remove(caller);
            }
            return waits;
        }
    }

    /** A broken model: it removes the next waiter from the queue without granting it the lock. */
    public static class ForgetfulLock extends FifoLock {
        @Override
        int next() {
            queue.removeFirst();
            return -1;
        }
    }

    @Test
    @DisplayName("is linearizable to a FIFO lock with cancellation")
    void queue_isLinearizable() {
        new StressOptions()
                .sequentialSpecification(FifoLock.class)
                .threads(3)
                .actorsPerThread(4)
                .actorsBefore(1)
                .actorsAfter(2)
                .iterations(30)
                .invocationsPerIteration(RUNS)
                .check(EngineLincheckTest.class);
    }

    /** It happens in the second thread's release under every schedule: the first caller has handed the lock to the second. */
    @Test
    @DisplayName("differs from a lock that loses waiters, so the check can fail")
    void otherLock_isNoticed() throws NoSuchMethodException {
        ExecutionScenario scenario = new ExecutionScenario(
                List.of(actor("enqueue", 1), actor("enqueue", 2), actor("release", 1)),
                List.of(List.of(actor("tryAcquire", 1)), List.of(actor("release", 2))),
                List.of(),
                null);

        assertThatThrownBy(() -> checkOnly(scenario, ForgetfulLock.class))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("release(2)");
        checkOnly(scenario, FifoLock.class);
    }

    private static Actor actor(String operation, int caller) throws NoSuchMethodException {
        return new Actor(EngineLincheckTest.class.getMethod(operation, int.class), List.of(caller));
    }

    private static void checkOnly(ExecutionScenario scenario, Class<?> specification) {
        new StressOptions()
                .sequentialSpecification(specification)
                .addCustomScenario(scenario)
                .iterations(0)
                .invocationsPerIteration(100)
                .minimizeFailedScenario(false)
                .check(EngineLincheckTest.class);
    }
}
