package dev.holdfast.chaos.cluster;

/**
 * A connection to one server that writes to it without the library: what that takes, the machine and the store take. For one
 * thread.
 */
public interface RawWrite extends AutoCloseable {

    /**
     * Writes, and waits for the answer.
     *
     * @throws Exception if the server does not take it; the connection is of no use then
     */
    void write() throws Exception;

    @Override
    void close();
}
