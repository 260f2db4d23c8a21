package dev.holdfast.benchmarks.server;

import java.io.IOException;
import java.util.Set;

/** A server of a run, with the durability that it has by default. For the use of one thread. */
public interface Store extends AutoCloseable {

    /**
     * The store's name.
     *
     * @return lower case, such as {@code redis}
     */
    String name();

    /**
     * Name and version, for footnotes.
     *
     * @return for example {@code Redis 7.0.15}
     */
    String version();

    /**
     * Where it listens.
     *
     * @return an address for {@code LockClient.connect}
     */
    String address();

    /**
     * Counts what clients have asked for since some time in the past: commands, calls, packets or statements.
     *
     * @param plainCommands see {@code Candidate.plainCommands}
     * @return a number that only its differences give a sense
     * @throws IOException if the store does not answer
     */
    long commands(Set<String> plainCommands) throws IOException;

    /**
     * How long the server has worked on what clients have asked for since some time in the past, without its network.
     *
     * @param plainCommands see {@code Candidate.plainCommands}
     * @return microseconds, of which only differences make sense; NaN if the server does not say
     * @throws IOException if the store does not answer
     */
    default double workMicros(Set<String> plainCommands) throws IOException {
        return Double.NaN;
    }

    /**
     * What {@link #commands} counts.
     *
     * @return a plural
     */
    String unit();

    @Override
    void close();
}
