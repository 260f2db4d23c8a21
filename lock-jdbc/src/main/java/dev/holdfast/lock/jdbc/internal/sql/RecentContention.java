package dev.holdfast.lock.jdbc.internal.sql;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.function.LongSupplier;

/**
 * Which locks were found busy recently: a hint of which statement is the cheaper one, never of who holds. Names share places, so it
 * may say so of another one; its size does not depend on the number of names. Thread-safe.
 */
public final class RecentContention {
    /** Longer than polls are apart. */
    private static final long NANOS = TimeUnit.MILLISECONDS.toNanos(1_500);

    /** A power of two. */
    private static final int PLACES = 256;

    private final LongSupplier nanoTime;
    private final AtomicLongArray ends = new AtomicLongArray(PLACES);

    public RecentContention(LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
        long now = nanoTime.getAsLong();
        for (int place = 0; place < PLACES; place++) {
            ends.setPlain(place, now);
        }
    }

    public void add(String name) {
        ends.setOpaque(place(name), nanoTime.getAsLong() + NANOS);
    }

    public boolean contains(String name) {
        return ends.getOpaque(place(name)) - nanoTime.getAsLong() > 0;
    }

    private static int place(String name) {
        int hash = name.hashCode();
        return (hash ^ hash >>> 16) & (PLACES - 1);
    }
}
