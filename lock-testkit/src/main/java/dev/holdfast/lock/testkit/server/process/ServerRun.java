package dev.holdfast.lock.testkit.server.process;

import java.time.Duration;
import java.util.OptionalLong;

/** One start of a server, as a process of this machine or as a container. Thread-safe. */
interface ServerRun {

    /** The main process's id, as this machine's operating system shows it. */
    long pid();

    /** Whether it has not ended; one that is paused has not. */
    boolean isAlive();

    /** Waits for its end, at most that long; the exit status if it has ended. */
    OptionalLong awaitEnd(Duration atMost) throws InterruptedException;

    /** Stops it in its tracks: connections stay open and nothing answers. */
    void pause();

    /** Ends {@link #pause()}. */
    void resume();

    /** Kills it without warning and waits until it is gone. Nothing happens if it is. */
    void kill() throws InterruptedException;
}
