package dev.holdfast.benchmarks.candidate;

/** A lock in the hands of one thread. */
public interface NamedLock extends AutoCloseable {

    /**
     * Acquires the lock and waits for it if the candidate waits at all.
     *
     * @throws Exception if the lock could not be acquired
     */
    void lock() throws Exception;

    /**
     * Releases the lock.
     *
     * @throws Exception if the client fails or the lock was lost
     */
    void unlock() throws Exception;

    /**
     * Gives back what only this thread's lock needs, such as a connection. Not called while it is held.
     *
     * @throws Exception if the client fails
     */
    @Override
    default void close() throws Exception {}

    /**
     * Adapts a lock of the JDK's kind.
     *
     * @param lock to adapt
     * @return the same lock
     */
    static NamedLock of(java.util.concurrent.locks.Lock lock) {
        return new NamedLock() {
            @Override
            public void lock() {
                lock.lock();
            }

            @Override
            public void unlock() {
                lock.unlock();
            }
        };
    }
}
