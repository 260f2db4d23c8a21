package dev.holdfast.lock.engine;

import java.util.concurrent.locks.ReentrantLock;

/**
 * Sums up warnings of one kind: the first is logged as it is, those of the ten seconds after it are counted, and one line
 * tells their number. So an outage costs a line an interval, not one for each lock.
 */
final class Warnings {
    static final long INTERVAL_NANOS = 10_000_000_000L;

    /** Logs how many there were besides, and the latest of them. */
    interface Summary {
        void log(long count, String latest);
    }

    private final Timer timer;
    private final Summary summary;
    private final ReentrantLock mutex = new ReentrantLock();
    private boolean counting;
    private long counted;
    private String latest = "";
    private int lines;

    Warnings(Timer timer, Summary summary) {
        this.timer = timer;
        this.summary = summary;
    }

    /** Notes a warning; true if it is to be logged now, false if it will be part of a summary. */
    boolean isFirst(String warning) {
        mutex.lock();
        try {
            if (counting) {
                counted++;
                latest = warning;
                return false;
            }
            counting = true;
            lines++;
            timer.after(INTERVAL_NANOS, this::sumUp);
            return true;
        } finally {
            mutex.unlock();
        }
    }

    /** Logs what was counted, if anything; also called when the client closes. */
    void sumUp() {
        long count;
        String last;
        mutex.lock();
        try {
            count = counted;
            last = latest;
            counted = 0;
            latest = "";
            counting = count > 0;
            if (counting) {
                lines++;
                timer.after(INTERVAL_NANOS, this::sumUp);
            }
        } finally {
            mutex.unlock();
        }
        if (count > 0) {
            summary.log(count, last);
        }
    }

    /** How many lines there have been so far. */
    int lines() {
        mutex.lock();
        try {
            return lines;
        } finally {
            mutex.unlock();
        }
    }
}
