package dev.holdfast.chaos.check;

import dev.holdfast.chaos.history.Operation;
import dev.holdfast.chaos.history.Outcome;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * No client that waited half a second or longer gets an answer that the store is unavailable while nothing is wrong with it. Time in which the
 * machine was paused does not count, nor what the writes of an attempt take if the store is slow.
 */
public final class AnswerCheck implements Check {
    /** The name. */
    public static final String NAME = "L answers";

    /** A shorter deadline may pass before the answer. */
    private static final long PATIENCE_NANOS = 500_000_000L;

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Result check(Evidence evidence) {
        List<String> violations = new ArrayList<>();
        QuietPeriods calm = evidence.calm(true);
        long unavailable = 0;
        long undisturbed = 0;
        long slow = 0;
        for (Operation operation : evidence.history().operations()) {
            boolean refused = operation.failure == Outcome.UNAVAILABLE;
            unavailable += refused ? 1 : 0;
            long answered = operation.answered();
            if (!evidence.isWarm(operation)
                    || answered == Long.MAX_VALUE
                    || answered - operation.invoked < PATIENCE_NANOS
                    || !calm.throughout(operation.invoked, answered)) {
                continue;
            }
            if (answered - operation.invoked - calm.slack(operation.invoked, answered) < PATIENCE_NANOS) {
                slow += refused ? 1 : 0;
            } else {
                undisturbed++;
                if (refused) {
                    violations.add("name " + operation.name + ", client " + operation.process + " thread "
                            + operation.thread + ", " + operation.kind + ": told that the store is unavailable after "
                            + (operation.failed - operation.invoked) / 1_000_000 + " undisturbed ms, at "
                            + operation.failed / 1_000_000 + " ms");
                }
            }
        }
        return Result.of(
                NAME,
                violations,
                Map.of("unavailable", unavailable, "undisturbed waits", undisturbed, "as slow was the store", slow),
                undisturbed,
                "nobody waited for half a second without a fault, on a store and a machine quick enough for that");
    }
}
