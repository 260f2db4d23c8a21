package dev.holdfast.lock.cli;

/** The exit statuses of this command, apart from those of a program; the first four as in {@code sysexits.h}. */
final class ExitStatus {
    static final int OK = 0;
    /** {@code holder}: the lock is free. */
    static final int FREE = 1;
    /** {@code doctor}: there are warnings. */
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
