package dev.holdfast.lock.cli.process;

/** The signals that this command deals with; their numbers are the same on all systems that Java runs on. */
public enum PosixSignal {
    /** The terminal was closed. */
    HUP(1),
    /** {@code ^C}. */
    INT(2),
    /** Ends a process at once; it cannot be caught. */
    KILL(9),
    /** The polite request to end. */
    TERM(15);

    private final int number;

    PosixSignal(int number) {
        this.number = number;
    }

    /**
     * The exit status of a shell for a command that this signal ended.
     *
     * @return 128 and the signal's number
     */
    public int status() {
        return 128 + number;
    }
}
