package dev.holdfast.benchmarks.peer;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.Renewal;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import org.redisson.api.RLock;

/** What users of Redisson's lock call, on Redisson and on Holdfast: the adapter that docs/migrating.md describes. */
interface Mutex {
    Lock lock();

    /** Locks without renewal: Redisson's {@code lock(time, unit)}. */
    void lockFor(Duration lease);

    void unlockAfter(Duration lease);

    boolean isHeldByCurrentThread();

    boolean isLocked();

    Duration remaining(Duration lease);

    static Mutex of(RLock lock) {
        return new Mutex() {
            @Override
            public Lock lock() {
                return lock;
            }

            @Override
            public void lockFor(Duration lease) {
                lock.lock(lease.toMillis(), TimeUnit.MILLISECONDS);
            }

            @Override
            public void unlockAfter(Duration lease) {
                lock.unlock();
            }

            @Override
            public boolean isHeldByCurrentThread() {
                return lock.isHeldByCurrentThread();
            }

            @Override
            public boolean isLocked() {
                return lock.isLocked();
            }

            @Override
            public Duration remaining(Duration lease) {
                return Duration.ofMillis(lock.remainTimeToLive());
            }
        };
    }

    static Mutex of(LockClient client, String name) {
        DistributedLock renewed = client.lock(name);
        return new Mutex() {
            private DistributedLock bounded(Duration lease) {
                return client.lock(
                        name,
                        LockOptions.builder().lease(lease).renewal(Renewal.NONE).build());
            }

            @Override
            public Lock lock() {
                return renewed;
            }

            @Override
            public void lockFor(Duration lease) {
                bounded(lease).lock();
            }

            @Override
            public void unlockAfter(Duration lease) {
                bounded(lease).unlock();
            }

            @Override
            public boolean isHeldByCurrentThread() {
                return renewed.isHeldByCurrentThread();
            }

            @Override
            public boolean isLocked() {
                return client.holder(name).isPresent();
            }

            @Override
            public Duration remaining(Duration lease) {
                return bounded(lease).held().orElseThrow().remaining();
            }
        };
    }
}
