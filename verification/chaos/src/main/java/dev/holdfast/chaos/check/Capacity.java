package dev.holdfast.chaos.check;

import dev.holdfast.lock.Demand;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** Holders of one name, each with the instant at which it has gone; reports from when on there is room for others. */
final class Capacity {
    private record Taken(int permits, long until) {}

    private final List<Taken> permits = new ArrayList<>();
    private long alone = Long.MIN_VALUE;
    private long shared = Long.MIN_VALUE;

    void take(Demand demand, long until) {
        if (demand instanceof Demand.Permits asked) {
            permits.add(new Taken(asked.permits(), until));
        } else if (demand instanceof Demand.Shared) {
            shared = Math.max(shared, until);
        } else {
            alone = Math.max(alone, until);
        }
    }

    /** Holders that had gone before cannot be in the way of what comes later. */
    void forget(long before) {
        permits.removeIf(taken -> taken.until() <= before);
    }

    /** From when on there is room, if no other client comes; {@link Long#MIN_VALUE} if there always was. */
    long freeFor(Demand demand) {
        if (demand instanceof Demand.Permits asked) {
            return Math.max(Math.max(alone, shared), freeFor(asked));
        }
        long others =
                Math.max(alone, permits.stream().mapToLong(Taken::until).max().orElse(Long.MIN_VALUE));
        return demand instanceof Demand.Shared ? others : Math.max(others, shared);
    }

    private long freeFor(Demand.Permits asked) {
        List<Taken> lastFirst = permits.stream()
                .sorted(Comparator.comparingLong(Taken::until).reversed())
                .toList();
        int sum = asked.permits();
        for (Taken taken : lastFirst) {
            sum += taken.permits();
            if (sum > asked.limit()) {
                return taken.until();
            }
        }
        return Long.MIN_VALUE;
    }

    /** Of two demands, the one that needs more room; both as one who has it alone if they are not of a kind. */
    static Demand larger(Demand one, Demand other) {
        if (one.kind() != other.kind()) {
            return Demand.EXCLUSIVE;
        }
        return one instanceof Demand.Permits a && other instanceof Demand.Permits b && b.permits() > a.permits()
                ? other
                : one;
    }
}
