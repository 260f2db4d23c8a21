package dev.holdfast.chaos.check;

import dev.holdfast.chaos.history.Interval;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** Finds stretches of time without faults, and tells how much of them the machine was at work. */
final class Calm {
    private final List<Interval> faults;
    private final List<Interval> stalls;

    Calm(List<Interval> faults, List<Interval> stalls) {
        this.faults = sorted(faults);
        this.stalls = union(sorted(stalls));
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

    /** Whether no process stood still. */
    boolean smooth(long from, long to) {
        return stalls.stream().noneMatch(stall -> stall.overlaps(from, to));
    }

    /** The longest part of a stretch without a fault, less the time in which somebody stood still, in nanoseconds. */
    long longest(long from, long to) {
        long longest = 0;
        long calmSince = from;
        for (Interval fault : faults) {
            if (fault.end() < calmSince) {
                continue;
            }
            if (fault.start() >= to) {
                break;
            }
            longest = Math.max(longest, working(calmSince, fault.start()));
            calmSince = fault.end();
        }
        return Math.max(longest, working(calmSince, to));
    }

    private long working(long from, long to) {
        long working = to - from;
        for (Interval stall : stalls) {
            working -= Math.max(0, Math.min(to, stall.end()) - Math.max(from, stall.start()));
        }
        return working;
    }
}
