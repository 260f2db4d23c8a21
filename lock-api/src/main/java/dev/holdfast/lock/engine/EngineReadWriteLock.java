package dev.holdfast.lock.engine;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.DistributedReadWriteLock;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.spi.LockName;

/**
 * The user's handle of both locks of a name.
 *
 * @param readLock the shared lock of the name
 * @param writeLock the exclusive lock of the name
 */
record EngineReadWriteLock(DistributedLock readLock, DistributedLock writeLock) implements DistributedReadWriteLock {

    @Override
    public String name() {
        return writeLock.name();
    }

    @Override
    public LockOptions options() {
        return writeLock.options();
    }

    @Override
    public String toString() {
        return "DistributedReadWriteLock[" + LockName.printable(name()) + "]";
    }
}
