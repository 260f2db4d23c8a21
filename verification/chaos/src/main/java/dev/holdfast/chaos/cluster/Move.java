package dev.holdfast.chaos.cluster;

import java.io.IOException;

/** What belongs to a lock, that moves from one server to another while it is used. For one use. */
public interface Move {

    /**
     * Returns where it is.
     *
     * @return the index of a node
     */
    int from();

    /**
     * Returns where it goes.
     *
     * @return the index of another node
     */
    int to();

    /**
     * Leaves some here and some there, if there is more than one thing to move.
     *
     * @throws IOException if a server refuses
     */
    void begin() throws IOException;

    /**
     * Brings it to its end, also if it did not begin well.
     *
     * @throws IOException if that is not possible within a minute
     * @throws InterruptedException if interrupted
     */
    void finish() throws IOException, InterruptedException;
}
