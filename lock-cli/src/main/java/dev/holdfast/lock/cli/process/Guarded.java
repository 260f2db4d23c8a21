package dev.holdfast.lock.cli.process;

import java.util.concurrent.CompletableFuture;

/** A running program and everything that it started, as {@link Supervisor} sees it. Thread-safe. */
interface Guarded {

    /**
     * The end of the program itself.
     *
     * @return completes with its exit status, 128 and the signal's number if a signal ended it; never fails
     */
    CompletableFuture<Integer> exit();

    /**
     * Tells whether anything that the program started still runs, or the program itself.
     *
     * @return true if so
     */
    boolean anyAlive();

    /**
     * Loads what the end of the program will need, so that it does not depend on files that may be replaced until then, nor
     * on the time that loading takes. Sends nothing.
     */
    void rehearse();

    /**
     * Sends a signal to the program; TERM, INT, HUP and KILL also to everything that it started, as far as it still runs.
     *
     * @param signal which
     */
    void signal(PosixSignal signal);
}
