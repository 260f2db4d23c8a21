package dev.holdfast.lock.engine.internal.runtime;

import dev.holdfast.lock.spi.LockName;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Sums up warnings of one kind: the first is logged at once, those of the next ten seconds are counted, and one line reports
 * their number. So an outage costs a line per interval, not one per lock.
 */
public final class Warnings {
    public static final long INTERVAL_NANOS = 10_000_000_000L;

    private static final int MAX_NAMES = 5;

    /** Logs the number of further warnings, the first of their locks, and the latest warning. */
    public interface Summary {
        void log(long count, String names, String latest);
    }

    private final Timer timer;
    private final Summary summary;
    private final ReentrantLock mutex = new ReentrantLock();
    private boolean counting;
    private boolean closed;
    private long counted;
    private final Set<String> names = new LinkedHashSet<>();
    private String latest = "";
    private int lines;

    public Warnings(Timer timer, Summary summary) {
        this.timer = timer;
        this.summary = summary;
    }

    /** Records a warning; returns true if it must be logged now, false if it becomes part of a summary. */
    public boolean note(String name, String warning) {
        mutex.lock();
        try {
            if (counting && !closed) {
                counted++;
                latest = warning;
                if (names.size() < MAX_NAMES) {
                    names.add("'" + LockName.printable(name) + "'");
                }
                return false;
            }
            if (!closed) {
                timer.after(INTERVAL_NANOS, this::sumUp);
            }
            counting = true; // last: if there is no memory for the timer, the next warning is logged as well
            lines++;
            return true;
        } finally {
            mutex.unlock();
        }
    }

    /** Logs the counted warnings, if any. The client closes: no summary comes any more, so what is still noted is logged at once. */
    public void close() {
        mutex.lock();
        try {
            closed = true;
        } finally {
            mutex.unlock();
        }
        sumUp();
    }

    /** Logs the counted warnings, if any. */
    public void sumUp() {
        long count;
        String first;
        String last;
        mutex.lock();
        try {
            count = counted;
            first = String.join(", ", names);
            last = latest;
            names.clear();
            counted = 0;
            latest = "";
            counting = count > 0;
            if (counting) {
                lines++;
            }
            if (counting && !closed) {
                timer.after(INTERVAL_NANOS, this::sumUp);
            }
        } finally {
            mutex.unlock();
        }
        if (count > 0) {
            summary.log(count, first, last);
        }
    }

    /** The number of lines that were logged. */
    public int lines() {
        mutex.lock();
        try {
            return lines;
        } finally {
            mutex.unlock();
        }
    }
}
