package dev.holdfast.lock.testkit.house;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockException;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;

/**
 * Acquires and releases a lock until it is to rest, and notes its claims where a full heap does not matter. An Error of a call is
 * counted, and the next call follows.
 */
final class Contender implements Runnable {
    private static final int MAX_CLAIMS = 20_000;
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final long WORK_NANOS = 2_000_000;
    private static final long PAUSE_NANOS = 1_000_000;

    private final DistributedLock lock;
    private final AtomicInteger claims = new AtomicInteger();
    private final AtomicLong withoutMemory = new AtomicLong();
    private final AtomicLong failures = new AtomicLong();
    private final long[] tokens = new long[MAX_CLAIMS];
    private final long[] starts = new long[MAX_CLAIMS];
    private final long[] ends = new long[MAX_CLAIMS];
    private volatile boolean resting;
    private volatile String lastFailure = "none";

    Contender(DistributedLock lock) {
        this.lock = lock;
    }

    @Override
    public void run() {
        while (!resting && claims.get() < MAX_CLAIMS) {
            try (Lease lease = lock.acquire(PATIENCE)) {
                long startNanos = System.nanoTime();
                LockSupport.parkNanos(WORK_NANOS);
                claim(lease, startNanos);
            } catch (VirtualMachineError e) { // the JDK makes an InternalError of some OutOfMemoryErrors
                withoutMemory.incrementAndGet();
                LockSupport.parkNanos(PAUSE_NANOS);
            } catch (LockException | InterruptedException e) {
                failures.incrementAndGet();
                note(e);
            } catch (Throwable e) { // not a failure of locks
                note(e);
                throw e;
            }
        }
    }

    private void claim(Lease lease, long startNanos) {
        long endNanos = System.nanoTime();
        if (lease.isValid()) {
            int index = claims.get();
            tokens[index] = lease.token();
            starts[index] = startNanos;
            ends[index] = endNanos;
            claims.set(index + 1);
        }
    }

    private void note(Throwable failure) {
        try {
            lastFailure = failure.toString().replace('\n', ' ');
        } catch (OutOfMemoryError e) {
            withoutMemory.incrementAndGet();
        }
    }

    void rest() {
        resting = true;
    }

    String name() {
        return lock.name();
    }

    int claims() {
        return claims.get();
    }

    long withoutMemory() {
        return withoutMemory.get();
    }

    long failures() {
        return failures.get();
    }

    String lastFailure() {
        return lastFailure;
    }

    void tell(Consumer<Claim> listener) {
        for (int i = 0; i < claims.get(); i++) {
            listener.accept(new Claim(lock.name(), tokens[i], starts[i], ends[i]));
        }
    }

    /** One claim, for {@link dev.holdfast.lock.testkit.support.HistoryChecker#add}. */
    record Claim(String name, long token, long startNanos, long endNanos) {
        static Claim parse(String line) {
            String[] words = line.split(" ");
            return new Claim(words[0], Long.parseLong(words[1]), Long.parseLong(words[2]), Long.parseLong(words[3]));
        }

        String line() {
            return name + " " + token + " " + startNanos + " " + endNanos;
        }
    }
}
