package dev.holdfast.lock.cli.process;

import sun.misc.Signal;

/** The signals that this command sends or forwards. */
public enum PosixSignal {
    /** The terminal was closed. */
    HUP,
    /** {@code ^C}. */
    INT,
    /** Ends a process at once; it cannot be caught. */
    KILL,
    /** The polite request to end. */
    TERM,
    /** For the command's own purposes. */
    USR1,
    /** For the command's own purposes. */
    USR2,
    /** A timer has run out. */
    ALRM,
    /** A timer of processor time has run out. */
    VTALRM,
    /** A profiling timer has run out. */
    PROF,
    /** The limit of processor time is reached. */
    XCPU,
    /** A file can be read or written. */
    IO,
    /** The power fails. */
    PWR;

    /** Whether everything that a command started gets it, and not only the command. */
    boolean isForAll() {
        return this == HUP || this == INT || this == KILL || this == TERM;
    }

    /**
     * The exit status of a shell for a command that this signal ended.
     *
     * @return 128 and the signal's number on this system
     */
    public int status() {
        return 128 + new Signal(name()).getNumber();
    }
}
