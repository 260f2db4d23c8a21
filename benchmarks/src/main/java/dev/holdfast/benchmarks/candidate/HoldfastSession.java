package dev.holdfast.benchmarks.candidate;

import dev.holdfast.lock.DistributedSemaphore;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.Permit;
import org.jspecify.annotations.Nullable;

/** Everything of one client of ours. */
final class HoldfastSession implements Session {
    private final LockClient client;
    private final Runnable afterwards;

    /**
     * A session.
     *
     * @param client of the process
     * @param afterwards closes what the client was given
     */
    HoldfastSession(LockClient client, Runnable afterwards) {
        this.client = client;
        this.afterwards = afterwards;
    }

    @Override
    public NamedLock lock(String name) {
        return NamedLock.of(client.lock(name));
    }

    @Override
    public ReadWrite readWrite(String name) {
        return ReadWrite.of(client.readWriteLock(name));
    }

    @Override
    public NamedLock semaphore(String name, int limit) {
        return new OnePermit(client.semaphore(name, limit));
    }

    @Override
    public void close() {
        client.close();
        afterwards.run();
    }

    private static final class OnePermit implements NamedLock {
        private final DistributedSemaphore semaphore;
        private @Nullable Permit permit;

        OnePermit(DistributedSemaphore semaphore) {
            this.semaphore = semaphore;
        }

        @Override
        public void lock() throws InterruptedException {
            permit = semaphore.acquire();
        }

        @Override
        public void unlock() {
            if (permit != null) {
                permit.close();
            }
        }
    }
}
