package dev.holdfast.chaos.check;

import dev.holdfast.chaos.history.Operation;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Whoever could not have all locks has none when the call has returned. Seen by a lock that comes first in each set and that
 * nobody else uses: its caller gets it, at the latest when a release that was not answered has taken the lease's time. Only
 * where nothing disturbs.
 */
public final class HalfCheck implements Check {
    /** The name. */
    public static final String NAME = "M all or nothing";

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Result check(Evidence evidence) {
        List<String> violations = new ArrayList<>();
        Calm calm = evidence.calm(true);
        long cases = 0;
        long probes = 0;
        long longest = 0;
        for (Operation operation : evidence.history().operations()) {
            if (operation.probed == Operation.NEVER) {
                continue;
            }
            probes++;
            if (calm.throughout(operation.invoked, operation.probed)) {
                cases++;
                longest = Math.max(longest, operation.probed - operation.failed);
                if (operation.leftHalf) {
                    violations.add(operation + " ended as " + operation.failure + " at "
                            + operation.failed / 1_000_000 + " ms, and its first lock could not be had until "
                            + operation.probed / 1_000_000 + " ms");
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
