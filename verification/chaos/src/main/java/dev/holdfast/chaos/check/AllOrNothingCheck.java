package dev.holdfast.chaos.check;

import dev.holdfast.chaos.history.Operation;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Whoever could not have all locks has none when the call has returned. Seen by a lock that comes first in each set and that
 * no other client uses: its caller gets it within a second, and as much later as the machine was paused and the store was slow. If
 * these were so slow that a release may not have been answered, at the latest when that has taken the lease's time. Only where
 * nothing disturbs.
 */
public final class AllOrNothingCheck implements Check {
    /** The name. */
    public static final String NAME = "M all or nothing";

    private static final long SOON_NANOS = 1_000_000_000L;

    /** Half of what a request may take. */
    private static final long UNANSWERED_NANOS = 500_000_000L;

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Result check(Evidence evidence) {
        List<String> violations = new ArrayList<>();
        QuietPeriods calm = evidence.calm(true);
        long cases = 0;
        long probes = 0;
        long longest = 0;
        for (Operation operation : evidence.history().operations()) {
            if (operation.probed == Operation.NEVER) {
                continue;
            }
            probes++;
            if (evidence.isWarm(operation) && calm.throughout(operation.invoked, operation.probed)) {
                cases++;
                long took = operation.probed - operation.failed;
                longest = Math.max(longest, took);
                long slack = calm.slack(operation.invoked, operation.probed);
                boolean late = slack <= UNANSWERED_NANOS && took > SOON_NANOS + slack;
                if (operation.leftHalf || late) {
                    violations.add(operation + " ended as " + operation.failure + " at "
                            + operation.failed / 1_000_000 + " ms, and its first lock could not be had "
                            + (operation.leftHalf ? "until " : "before ") + operation.probed / 1_000_000 + " ms");
                }
            }
        }
        return Result.of(
                NAME,
                violations,
                Map.of("failed attempts", probes, "undisturbed", cases, "longest ms", longest / 1_000_000),
                cases,
                "no attempt failed while nothing disturbed");
    }
}
