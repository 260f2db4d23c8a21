package dev.holdfast.benchmarks.candidate;

/** A candidate's connection to the store, as an application would have one in a process. Thread-safe. */
public interface Session extends AutoCloseable {

    /**
     * Returns a lock, obtained each time as the library's documentation recommends.
     *
     * @param name of the lock
     * @return a lock for the use of the calling thread
     * @throws Exception if the client fails
     */
    default NamedLock lock(String name) throws Exception {
        throw new UnsupportedOperationException("no lock");
    }

    /**
     * Returns both locks of a name, obtained each time as the library's documentation recommends.
     *
     * @param name of the locks
     * @return locks for the use of the calling thread
     * @throws Exception if the client fails
     */
    default ReadWrite readWrite(String name) throws Exception {
        throw new UnsupportedOperationException("no lock for readers and writers");
    }

    /**
     * Returns a semaphore, obtained each time as the library's documentation recommends.
     *
     * @param name of the semaphore
     * @param limit how many permits it has
     * @return acquires and releases one permit, for the use of the calling thread
     * @throws Exception if the client fails
     */
    default NamedLock semaphore(String name, int limit) throws Exception {
        throw new UnsupportedOperationException("no semaphore");
    }
}
