package dev.holdfast.chaos.check;

import dev.holdfast.chaos.history.Interval;
import dev.holdfast.chaos.history.Operation;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * C8: a writer does not wait forever because readers come, nor a waiter for many permits because others
 * come for few. No client waits for ten undisturbed seconds while those who asked a second later for something else are served. Time in
 * which there would have been no room even without those who came later does not count: it depends on how long others work.
 */
public final class StarvationCheck implements Check {
    /** The name. */
    public static final String NAME = "C8 starvation";

    private static final long BOUND_NANOS = 10_000_000_000L;
    private static final long APART_NANOS = 1_000_000_000L;
    private static final long MIN_NANOS = 500_000_000L;

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Result check(Evidence evidence) {
        List<String> violations = new ArrayList<>();
        QuietPeriods calm = evidence.calm(false);
        long waits = 0;
        long passed = 0;
        long longest = 0;
        for (List<Operation> ofName : evidence.history().byName().values()) {
            List<Granted> grants = Granted.of(ofName).stream()
                    .sorted(Comparator.comparingLong(Granted::acquired))
                    .toList();
            for (Operation waiter : ofName) {
                long end = Math.min(evidence.stoppedNanos(), evidence.endOfWait(waiter));
                if (!waiter.kind.waits() || end - waiter.invoked < MIN_NANOS) {
                    continue;
                }
                if (calm.longest(waiter.invoked, end) < MIN_NANOS) {
                    continue;
                }
                waits++;
                for (Interval part : calm.parts(waiter.invoked, end)) {
                    List<Granted> later = passing(waiter, part, grants);
                    passed = Math.max(passed, later.size());
                    if (later.isEmpty()) {
                        continue;
                    }
                    long starved = part.end()
                            - part.start()
                            - withoutRoom(waiter, part, grants, later, evidence.leaseMillis())
                            - calm.slack(part.start(), part.end());
                    longest = Math.max(longest, starved);
                    if (starved > BOUND_NANOS) {
                        violations.add(waiter + " waited for " + starved / 1_000_000
                                + " undisturbed ms in which nobody else was in its way but " + later.size()
                                + " who came later, " + later.get(later.size() - 1) + " as the last");
                    }
                }
            }
        }
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("waits", waits);
        facts.put("longest ms", longest / 1_000_000);
        facts.put("most that passed", passed);
        return Result.of(NAME, violations, facts, waits, "nobody waited for half a second while nothing disturbed");
    }

    /** Those that were asked for a second later, for something else, and came first. */
    private static List<Granted> passing(Operation waiter, Interval part, List<Granted> byAcquired) {
        return byAcquired.stream()
                .filter(grant -> grant.acquired() < part.end()
                        && grant.acquired() > part.start()
                        && grant.invoked() - waiter.invoked > APART_NANOS
                        && !grant.demand().equals(waiter.demand))
                .toList();
    }

    /** For how long the others alone left no room for the waiter. */
    private static long withoutRoom(
            Operation waiter, Interval part, List<Granted> byAcquired, List<Granted> later, long leaseMillis) {
        Set<Granted> passers = new HashSet<>(later);
        List<Granted> others = byAcquired.stream()
                .filter(grant -> grant.acquired() < part.end()
                        && grant.freedBy(leaseMillis) > part.start()
                        && grant.first() != waiter
                        && !passers.contains(grant))
                .toList();
        TreeSet<Long> changes = new TreeSet<>(List.of(part.start(), part.end()));
        for (Granted other : others) {
            changes.add(Math.max(part.start(), other.acquired()));
            changes.add(Math.min(part.end(), other.freedBy(leaseMillis)));
        }
        long without = 0;
        long from = part.start();
        for (long to : changes.tailSet(from, false)) {
            Capacity room = new Capacity();
            for (Granted other : others) {
                if (other.acquired() <= from && other.freedBy(leaseMillis) >= to) {
                    room.take(other.demand(), to);
                }
            }
            without += room.freeFor(waiter.demand) >= to ? to - from : 0;
            from = to;
        }
        return without;
    }
}
