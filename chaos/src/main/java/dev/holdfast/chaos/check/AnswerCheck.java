package dev.holdfast.chaos.check;

import dev.holdfast.chaos.history.Operation;
import dev.holdfast.chaos.history.Outcome;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Nobody who waited half a second or longer is told that the store is unavailable while nothing is wrong with it. */
public final class AnswerCheck implements Check {
    /** The name. */
    public static final String NAME = "L answers";

    /** A shorter deadline may pass before a busy machine has answered. */
    private static final long PATIENCE_NANOS = 500_000_000L;

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Result check(Evidence evidence) {
        List<String> violations = new ArrayList<>();
        Calm calm = evidence.calm(true);
        Map<Operation.Process, Long> begun = evidence.history().starts();
        long unavailable = 0;
        long undisturbed = 0;
        for (Operation operation : evidence.history().operations()) {
            boolean refused = operation.failure == Outcome.UNAVAILABLE;
            unavailable += refused ? 1 : 0;
            boolean warm = operation.invoked - begun.getOrDefault(operation.process, Long.MIN_VALUE / 2)
                    >= Evidence.WARM_UP_NANOS;
            if (warm
                    && operation.answered() != Long.MAX_VALUE
                    && operation.answered() - operation.invoked >= PATIENCE_NANOS
                    && calm.throughout(operation.invoked, operation.answered())
                    && (!refused || calm.smooth(operation.invoked, operation.answered()))) {
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
                Map.of("unavailable", unavailable, "undisturbed waits", undisturbed),
                undisturbed,
                "nobody waited for half a second without a fault");
    }
}
