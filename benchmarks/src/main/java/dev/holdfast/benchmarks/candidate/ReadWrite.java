package dev.holdfast.benchmarks.candidate;

import java.util.concurrent.locks.ReadWriteLock;

/**
 * Both locks of a name, in the hands of one thread.
 *
 * @param read lets others read
 * @param write excludes all others
 */
public record ReadWrite(NamedLock read, NamedLock write) {

    /**
     * Adapts a lock of the JDK's kind.
     *
     * @param lock to adapt
     * @return the same locks
     */
    static ReadWrite of(ReadWriteLock lock) {
        return new ReadWrite(NamedLock.of(lock.readLock()), NamedLock.of(lock.writeLock()));
    }
}
