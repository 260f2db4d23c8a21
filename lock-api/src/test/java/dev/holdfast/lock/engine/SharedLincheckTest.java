package dev.holdfast.lock.engine;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.DistributedReadWriteLock;
import dev.holdfast.lock.DistributedSemaphore;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.Permit;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.BooleanSupplier;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.jetbrains.lincheck.datastructures.StressOptions;
import org.jetbrains.lincheck.datastructures.ThreadIdGen;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/**
 * The operations of one client's threads on a read-write lock (sharing a grant, writing, downgrading) and on a semaphore are
 * linearizable. A {@code tryLock} may report "busy" while a concurrent call is undecided; the caller then tries again without
 * concurrent calls, and that answer is exact.
 *
 * <p>{@code -Dholdfast.lincheck.scenarios=N} runs N times as many scenarios; the usual ones take some seconds.
 */
@DisplayName("Readers, a writer and permits of one client")
public class SharedLincheckTest {
    private static final int FACTOR = Integer.getInteger("holdfast.lincheck.scenarios", 1);
    private static final int LIMIT = 3;

    /** Makes a call, and repeats it without concurrent calls if the answer is "busy". */
    private static final class Calls {
        private final ReadWriteLock alone = new ReentrantReadWriteLock();

        boolean call(BooleanSupplier action) {
            return within(alone.readLock(), action) || within(alone.writeLock(), action);
        }

        boolean once(BooleanSupplier action) {
            return within(alone.readLock(), action);
        }

        private static boolean within(java.util.concurrent.locks.Lock lock, BooleanSupplier action) {
            lock.lock();
            try {
                return action.getAsBoolean();
            } finally {
                lock.unlock();
            }
        }
    }

    /** Each Lincheck thread has its own holds. */
    public static class ReadWrite {
        private final DistributedReadWriteLock lock = InlineBackend.client(
                        new InlineDemands(), LockClientOptions.defaults())
                .readWriteLock("n");
        private final Calls calls = new Calls();
        private final Map<Thread, Deque<DistributedLock>> held = new ConcurrentHashMap<>();

        private Deque<DistributedLock> mine() {
            return held.computeIfAbsent(Thread.currentThread(), thread -> new ArrayDeque<>());
        }

        private boolean tryLock(DistributedLock what) {
            if (what.tryLock()) {
                mine().add(what);
                return true;
            }
            return false;
        }

        @Operation
        public boolean read(@Param(gen = ThreadIdGen.class) int thread) {
            return mine().isEmpty() && calls.call(() -> tryLock(lock.readLock()));
        }

        @Operation
        public boolean write(@Param(gen = ThreadIdGen.class) int thread) {
            return mine().isEmpty() && calls.call(() -> tryLock(lock.writeLock()));
        }

        /** Downgrades: the writer keeps reading, and no other writer comes in between. */
        @Operation
        public boolean downgrade(@Param(gen = ThreadIdGen.class) int thread) {
            if (mine().size() != 1 || mine().peek() != lock.writeLock()) {
                return false;
            }
            return calls.once(() -> {
                boolean reads = tryLock(lock.readLock());
                mine().removeFirst().unlock();
                return reads;
            });
        }

        @Operation
        public boolean unlock(@Param(gen = ThreadIdGen.class) int thread) {
            if (mine().isEmpty()) {
                return false;
            }
            return calls.once(() -> {
                mine().removeFirst().unlock();
                return true;
            });
        }
    }

    /** The correct model. */
    public static class ReadWriteModel {
        private enum Held {
            READS,
            WRITES,
            READS_ON
        }

        private final Map<Integer, Held> held = new HashMap<>();

        public boolean read(int thread) {
            if (held.containsKey(thread) || !leavesRoomForReader()) {
                return false;
            }
            held.put(thread, Held.READS);
            return true;
        }

        boolean leavesRoomForReader() {
            return held.values().stream().allMatch(each -> each == Held.READS);
        }

        public boolean write(int thread) {
            if (!held.isEmpty()) {
                return false;
            }
            held.put(thread, Held.WRITES);
            return true;
        }

        public boolean downgrade(int thread) {
            return held.replace(thread, Held.WRITES, Held.READS_ON);
        }

        public boolean unlock(int thread) {
            return held.remove(thread) != null;
        }
    }

    /** A broken model: it admits a reader during a write. */
    public static class ReadersBesideWriters extends ReadWriteModel {
        @Override
        boolean leavesRoomForReader() {
            return true;
        }
    }

    /** Each Lincheck thread has at most one lease. */
    public static class Semaphore {
        private final DistributedSemaphore semaphore = InlineBackend.client(
                        new InlineDemands(), LockClientOptions.defaults())
                .semaphore("n", LIMIT);
        private final Calls calls = new Calls();
        private final Map<Integer, Permit> held = new ConcurrentHashMap<>();

        @Operation
        public boolean acquire(
                @Param(gen = ThreadIdGen.class) int thread, @Param(gen = IntGen.class, conf = "1:2") int permits) {
            return !held.containsKey(thread)
                    && calls.call(() -> {
                        Optional<Permit> permit = semaphore.tryAcquire(permits);
                        permit.ifPresent(got -> held.put(thread, got));
                        return permit.isPresent();
                    });
        }

        @Operation
        public boolean release(@Param(gen = ThreadIdGen.class) int thread) {
            return calls.once(() -> {
                Permit permit = held.remove(thread);
                if (permit != null) {
                    permit.close();
                }
                return permit != null;
            });
        }
    }

    /** The correct model. */
    public static class SemaphoreModel {
        private final Map<Integer, Integer> held = new HashMap<>();

        public boolean acquire(int thread, int permits) {
            int taken = held.values().stream().mapToInt(each -> each).sum();
            if (held.containsKey(thread) || taken + permits > limit()) {
                return false;
            }
            held.put(thread, permits);
            return true;
        }

        int limit() {
            return LIMIT;
        }

        public boolean release(int thread) {
            return held.remove(thread) != null;
        }
    }

    /** A broken model: it has one permit too many. */
    public static class OneMore extends SemaphoreModel {
        @Override
        int limit() {
            return LIMIT + 1;
        }
    }

    @Test
    @DisplayName("are linearizable to a read-write lock with downgrading")
    void readWrite_isLinearizable() {
        check(ReadWrite.class, ReadWriteModel.class, 20 * FACTOR, 300);
    }

    @Test
    @DisplayName("differ from a lock that admits readers during a write, so the check can fail")
    void readersBesideAWriter_areNoticed() {
        assertThatThrownBy(() -> check(ReadWrite.class, ReadersBesideWriters.class, 100, 20))
                .isInstanceOf(AssertionError.class);
    }

    @Test
    @DisplayName("are linearizable to a semaphore")
    void semaphore_isLinearizable() {
        check(Semaphore.class, SemaphoreModel.class, 20 * FACTOR, 300);
    }

    @Test
    @DisplayName("differ from a semaphore with one permit too many, so the check can fail")
    void oneMore_isNoticed() {
        assertThatThrownBy(() -> check(Semaphore.class, OneMore.class, 100, 20)).isInstanceOf(AssertionError.class);
    }

    private static void check(Class<?> tested, Class<?> specification, int scenarios, int runs) {
        new StressOptions()
                .sequentialSpecification(specification)
                .threads(3)
                .actorsPerThread(4)
                .actorsBefore(0)
                .actorsAfter(0)
                .iterations(scenarios)
                .invocationsPerIteration(runs)
                .check(tested);
    }
}
