package dev.holdfast.benchmarks.candidate;

/** A candidate's connection to the store, as an application would have one in a process. Thread-safe. */
public interface Session extends AutoCloseable {

    /**
     * Returns a lock, each time as the library's documentation tells to get one.
     *
     * @param name of the lock
     * @return a lock for the use of the calling thread
     * @throws Exception if the client fails
     */
    NamedLock lock(String name) throws Exception;
}
