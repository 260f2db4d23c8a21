package dev.holdfast.chaos.check;

import dev.holdfast.chaos.history.Interval;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Finds stretches of time without faults, and reports how much of them the machine was at work, and how quick the store was without
 * the library. What is to happen within some time may take as much longer as {@link #slack} says.
 */
final class QuietPeriods {
    /** Shorter writes are no stalls. */
    private static final long LONG_NANOS = 250_000_000L;

    /** How many writes an operation of a lock may need, one after the other. */
    private static final int WRITES = 4;

    private final List<Interval> faults;
    private final List<Interval> stalls;
    private final List<Interval> writes;
    private final long slowestNanos;
    private final long longestStallNanos;

    QuietPeriods(List<Interval> faults, List<Interval> processes, Pace pace) {
        this.faults = sorted(faults);
        this.writes = sorted(pace.writes());
        this.slowestNanos =
                writes.stream().mapToLong(QuietPeriods::length).max().orElse(0);
        List<Interval> all = new ArrayList<>(processes);
        all.addAll(pace.stalls());
        writes.stream().filter(QuietPeriods::isLong).forEach(all::add);
        this.stalls = union(sorted(all));
        this.longestStallNanos =
                stalls.stream().mapToLong(QuietPeriods::length).max().orElse(0);
    }

    private static long length(Interval interval) {
        return interval.end() - interval.start();
    }

    private static boolean isLong(Interval interval) {
        return length(interval) >= LONG_NANOS;
    }

    private static List<Interval> sorted(List<Interval> intervals) {
        return intervals.stream()
                .sorted(Comparator.comparingLong(Interval::start))
                .toList();
    }

    private static List<Interval> union(List<Interval> sorted) {
        List<Interval> union = new ArrayList<>();
        for (Interval next : sorted) {
            Interval last = union.isEmpty() ? null : union.get(union.size() - 1);
            if (last != null && next.start() <= last.end()) {
                union.set(union.size() - 1, new Interval(last.what(), last.start(), Math.max(last.end(), next.end())));
            } else {
                union.add(next);
            }
        }
        return union;
    }

    /** Whether there was no fault, nor what follows one. */
    boolean throughout(long from, long to) {
        return faults.stream().noneMatch(fault -> fault.overlaps(from, to));
    }

    /** Whether no process was paused. */
    boolean smooth(long from, long to) {
        return stalls.stream().noneMatch(stall -> stall.overlaps(from, to));
    }

    /**
     * By how much whatever happens in a stretch of time may be late: as long as a process was paused in it, and as long as the
     * writes of an operation take if each is as slow as the slowest of the store then.
     */
    long slack(long from, long to) {
        return standstill(from, to) + slowness(from, to);
    }

    /** For how long a process, the controller or the store was paused. */
    private long standstill(long from, long to) {
        long still = 0;
        for (int i = firstFrom(stalls, from - longestStallNanos); i < stalls.size(); i++) {
            Interval stall = stalls.get(i);
            if (stall.start() >= to) {
                break;
            }
            still += Math.max(0, Math.min(to, stall.end()) - Math.max(from, stall.start()));
        }
        return still;
    }

    /** What the writes of an operation take if each is as slow as the slowest of the store then. */
    long slowness(long from, long to) {
        long slowest = 0;
        for (int i = firstFrom(writes, from - slowestNanos); i < writes.size(); i++) {
            Interval write = writes.get(i);
            if (write.start() > to) {
                break;
            }
            slowest = write.end() < from ? slowest : Math.max(slowest, length(write));
        }
        return WRITES * slowest;
    }

    /** The index of the first that does not start before an instant. */
    private static int firstFrom(List<Interval> byStart, long nanos) {
        int low = 0;
        int high = byStart.size();
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (byStart.get(middle).start() < nanos) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }

    /** The longest part of a stretch without a fault, less the time in which a process was paused, in nanoseconds. */
    long longest(long from, long to) {
        long longest = 0;
        for (Interval part : parts(from, to)) {
            longest = Math.max(longest, length(part) - standstill(part.start(), part.end()));
        }
        return longest;
    }

    /** The parts of a stretch without a fault, in their order. */
    List<Interval> parts(long from, long to) {
        List<Interval> parts = new ArrayList<>();
        long calmSince = from;
        for (Interval fault : faults) {
            if (fault.end() < calmSince) {
                continue;
            }
            if (fault.start() >= to) {
                break;
            }
            if (fault.start() > calmSince) {
                parts.add(new Interval("calm", calmSince, fault.start()));
            }
            calmSince = fault.end();
        }
        if (to > calmSince) {
            parts.add(new Interval("calm", calmSince, to));
        }
        return parts;
    }
}
