package dev.holdfast.lock.cli;

/** What this command returns besides the exit status of a program; the first four as in {@code sysexits.h}. */
final class ExitStatus {
    static final int OK = 0;
    /** {@code holder}: nobody holds the lock. */
    static final int FREE = 1;
    /** {@code doctor}: something needs mending. */
    static final int FINDINGS = 1;

    static final int USAGE = 64;
    static final int UNAVAILABLE = 69;
    static final int SOFTWARE = 70;
    static final int WRITE_ERROR = 74;
    static final int BUSY = 75;
    static final int CONFIGURATION = 78;
    static final int LOST = 79;

    private ExitStatus() {}
}
