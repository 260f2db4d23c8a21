package dev.holdfast.lock.testkit.support;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A resource that readers, writers or holders of permits use, as one that checks tokens would: it notes who uses it at once, and
 * whom it had to refuse. Thread-safe.
 */
public final class SharedBook {
    private final ReentrantLock mutex = new ReentrantLock();
    private final List<String> violations = new ArrayList<>();
    private final Map<Integer, Long> tokensBySlot = new HashMap<>();
    private final Map<Integer, Integer> usersOfSlot = new HashMap<>();
    private final int limit;
    private int readers;
    private int writers;
    private int permits;
    private long highest;
    private long highestWrite;

    public SharedBook(int limit) {
        this.limit = limit;
    }

    public void beginRead(long token) {
        change(() -> {
            readers++;
            expect(writers == 0, "a reader beside a writer, token " + token);
            expect(token >= highestWrite, "a read with token " + token + " after a write with " + highestWrite);
            highest = Math.max(highest, token);
        });
    }

    public void endRead() {
        change(() -> readers--);
    }

    public void beginWrite(long token) {
        change(() -> {
            writers++;
            expect(writers == 1 && readers == 0, "a writer beside " + readers + " readers, token " + token);
            expect(token > highest, "a write with token " + token + " after token " + highest);
            highest = Math.max(highest, token);
            highestWrite = Math.max(highestWrite, token);
        });
    }

    public void endWrite() {
        change(() -> writers--);
    }

    public void beginUse(int slot, int count, long token) {
        change(() -> {
            permits += count;
            expect(permits <= limit, permits + " permits of " + limit + " in use, token " + token);
            expect(slot >= 1 && slot <= limit, "slot " + slot + " of " + limit);
            expect(usersOfSlot.merge(slot, 1, Integer::sum) == 1, "slot " + slot + " in use twice, token " + token);
            Long before = tokensBySlot.put(slot, token);
            expect(before == null || before < token, "in slot " + slot + " token " + token + " after " + before);
        });
    }

    public void endUse(int slot, int count) {
        change(() -> {
            permits -= count;
            usersOfSlot.merge(slot, -1, Integer::sum);
        });
    }

    public List<String> violations() {
        mutex.lock();
        try {
            return List.copyOf(violations);
        } finally {
            mutex.unlock();
        }
    }

    private void change(Runnable change) {
        mutex.lock();
        try {
            change.run();
        } finally {
            mutex.unlock();
        }
    }

    private void expect(boolean holds, String otherwise) {
        if (!holds) {
            violations.add(otherwise);
        }
    }
}
