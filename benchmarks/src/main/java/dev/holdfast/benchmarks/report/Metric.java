package dev.holdfast.benchmarks.report;

import java.util.Locale;

/** What is measured, its unit and how it is printed. */
public enum Metric {
    /** Acquisitions a second. */
    OPS("acq/s", 0, true),
    /** Acquire and release together, median. */
    PAIR_P50("pair p50 µs", 1, false),
    /** Acquire and release together. */
    PAIR_P99("pair p99 µs", 0, false),
    /** From the call of {@code lock} to its return. */
    WAIT_P99("wait p99 ms", 2, false),
    /** The same, of writers only. */
    WRITE_WAIT_P99("write wait p99 ms", 2, false),
    /** The longest of all waits. */
    LONGEST_WAIT("longest wait ms", 1, false),
    /** Acquisitions of the luckiest thread to those of the unluckiest. */
    THREAD_SPREAD("max/min per thread", 2, false),
    /** Acquisitions of the luckiest process to those of the unluckiest. */
    PROCESS_SPREAD("max/min per process", 2, false),
    /** What the server was asked, each acquisition with its release. */
    COMMANDS("requests per acq", 2, false),
    /** The server's own time for an acquisition with its release. */
    SERVER_MICROS("server µs per acq", 1, false),
    /** From the call of {@code unlock} to the return of another process's {@code lock}, median. */
    HANDOFF_P50("hand-off p50 µs", 0, false),
    /** How often the lock went to another process. */
    HANDOFFS("hand-offs/s", 0, true),
    /** From the kill to the next grant. */
    TAKE_OVER("kill to grant s", 2, false),
    /** CPU time of the client process. */
    CPU("client CPU ms/s", 1, false),
    /** What the server was asked while nothing happened but renewal. */
    REQUESTS_PER_SECOND("requests/s", 1, false),
    /** Heap of the client process for each lock that is held. */
    HELD_BYTES("bytes per held lock", 0, false),
    /** Heap of the client process for each virtual thread that waits, with the thread. */
    WAITING_BYTES("bytes per waiter", 0, false),
    /** Heap that stays for each name that was used once. */
    IDLE_BYTES("bytes per idle name", 0, false);

    private final String title;
    private final int digits;
    private final boolean moreIsBetter;

    Metric(String title, int digits, boolean moreIsBetter) {
        this.title = title;
        this.digits = digits;
        this.moreIsBetter = moreIsBetter;
    }

    /**
     * The heading of a column.
     *
     * @return name and unit
     */
    public String title() {
        return title;
    }

    /**
     * Returns which of two is the better one.
     *
     * @return whether a greater figure is better
     */
    public boolean moreIsBetter() {
        return moreIsBetter;
    }

    /**
     * Prints a figure.
     *
     * @param value in this metric's unit
     * @return the value with sensible precision
     */
    public String format(double value) {
        return Double.isNaN(value) ? "–" : String.format(Locale.ROOT, "%,." + digits + "f", value);
    }
}
