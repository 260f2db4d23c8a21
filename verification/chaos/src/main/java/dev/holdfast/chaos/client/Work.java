package dev.holdfast.chaos.client;

import java.io.IOException;
import java.util.concurrent.ExecutionException;

/** What a worker thread does again and again, in one of the workloads. For one thread. */
interface Work {

    /**
     * Acquires, works and releases once, and writes all of it down. A failure of the acquisition is written down as well.
     *
     * @throws IOException if the controller has gone
     * @throws InterruptedException if interrupted
     */
    void step() throws IOException, InterruptedException;

    /**
     * Ends what lasts beyond a step.
     *
     * @throws InterruptedException if interrupted
     */
    default void close() throws InterruptedException {}

    /** Acquires for a {@link Hold}, works and releases; what it throws is how the acquisition ended. */
    @FunctionalInterface
    interface Attempt {
        void run() throws IOException, InterruptedException, ExecutionException;
    }
}
