package dev.holdfast.chaos.check;

import dev.holdfast.chaos.history.Operation;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * C8: who waits to write does not wait for ever because others come to read, nor who waits for many permits because others
 * come for few. Nobody waits for thirty undisturbed seconds while somebody who asked a second later for something else is served.
 */
public final class StarvationCheck implements Check {
    /** The name. */
    public static final String NAME = "C8 starvation";

    private static final long BOUND_NANOS = 30_000_000_000L;
    private static final long APART_NANOS = 1_000_000_000L;
    private static final long LEAST_NANOS = 500_000_000L;

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Result check(Evidence evidence) {
        List<String> violations = new ArrayList<>();
        Calm calm = evidence.calm(false);
        long waits = 0;
        long passed = 0;
        long longest = 0;
        for (List<Operation> ofName : evidence.history().byName().values()) {
            List<Granted> grants = Granted.of(ofName).stream()
                    .sorted(Comparator.comparingLong(Granted::acquired))
                    .toList();
            for (Operation waiter : ofName) {
                long end = Math.min(evidence.stoppedNanos(), evidence.endOfWait(waiter));
                if (!waiter.kind.waits() || end - waiter.invoked < LEAST_NANOS) {
                    continue;
                }
                long undisturbed = calm.longest(waiter.invoked, end);
                if (undisturbed < LEAST_NANOS) {
                    continue;
                }
                waits++;
                List<Granted> later = passing(waiter, end, grants);
                passed = Math.max(passed, later.size());
                longest = Math.max(longest, undisturbed);
                if (undisturbed > BOUND_NANOS
                        && !later.isEmpty()
                        && later.get(later.size() - 1).acquired() - waiter.invoked > BOUND_NANOS) {
                    violations.add(waiter + " waited for " + undisturbed / 1_000_000 + " undisturbed ms while "
                            + later.size() + " others passed, " + later.get(later.size() - 1) + " as the last");
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
    private static List<Granted> passing(Operation waiter, long end, List<Granted> byAcquired) {
        return byAcquired.stream()
                .filter(grant -> grant.acquired() < end
                        && grant.acquired() > waiter.invoked
                        && grant.invoked() - waiter.invoked > APART_NANOS
                        && !grant.demand().equals(waiter.demand))
                .toList();
    }
}
