package dev.holdfast.benchmarks.peer;

import dev.holdfast.lock.LockClient;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.recipes.locks.InterProcessLock;

/** Curator's interface of a mutex on Holdfast. */
record HoldfastMutex(LockClient client, String name) implements InterProcessLock {

    @Override
    public void acquire() throws InterruptedException {
        client.lock(name).lockInterruptibly();
    }

    @Override
    public boolean acquire(long time, TimeUnit unit) throws InterruptedException {
        return client.lock(name).tryLock(time, unit);
    }

    @Override
    public void release() {
        client.lock(name).unlock();
    }

    @Override
    public boolean isAcquiredInThisProcess() {
        return client.held().stream()
                .anyMatch(usage -> usage.name().equals(name) && usage.holder().isPresent());
    }
}
