package dev.holdfast.benchmarks.micro;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.LockClient;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Threads;

/** What the engine itself costs: the memory backend answers on the calling thread. */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class EngineBenchmark {
    private static final int NAMES = 10_000;

    /** A client and its locks, shared by all threads. */
    @State(Scope.Benchmark)
    public static class Shared {
        private final LockClient client = LockClient.connect("memory:bench");
        private final DistributedLock lock = client.lock("shared");
        private final Lock local = new ReentrantLock(true);
        private final DistributedLock[] many = new DistributedLock[NAMES];
        private int next;

        /** Makes the locks. */
        @Setup
        public void open() {
            for (int i = 0; i < NAMES; i++) {
                many[i] = client.lock("name-" + i);
            }
        }

        /** Ends the client. */
        @TearDown
        public void close() {
            client.close();
        }
    }

    /** A lock that the benchmark's thread holds. */
    @State(Scope.Thread)
    public static class Held {
        private final LockClient client = LockClient.connect("memory:held");
        private final DistributedLock lock = client.lock("held");

        /** Takes it. */
        @Setup(Level.Iteration)
        public void take() {
            lock.lock();
        }

        /** Gives it back. */
        @TearDown(Level.Iteration)
        public void release() {
            lock.unlock();
        }
    }

    /**
     * Locks and unlocks a lock that the thread holds already.
     *
     * @param held the lock
     */
    @Benchmark
    public void reentrant(Held held) {
        held.lock.lock();
        held.lock.unlock();
    }

    /**
     * Locks and unlocks a free lock.
     *
     * @param shared the lock
     */
    @Benchmark
    public void uncontended(Shared shared) {
        shared.lock.lock();
        shared.lock.unlock();
    }

    /**
     * Sixteen threads hand one lock on.
     *
     * @param shared the lock
     */
    @Benchmark
    @Threads(16)
    public void handOff(Shared shared) {
        shared.lock.lock();
        shared.lock.unlock();
    }

    /**
     * The same with a fair lock of the JVM.
     *
     * @param shared the lock
     */
    @Benchmark
    @Threads(16)
    public void handOffOfFairReentrantLock(Shared shared) {
        shared.local.lock();
        shared.local.unlock();
    }

    /**
     * One of 10,000 names after the other.
     *
     * @param shared the locks
     */
    @Benchmark
    public void tenThousandNames(Shared shared) {
        DistributedLock lock = shared.many[shared.next++ % NAMES];
        lock.lock();
        lock.unlock();
    }
}
