package dev.holdfast.chaos.check;

import dev.holdfast.chaos.fault.FaultKind;
import dev.holdfast.chaos.history.Operation;
import dev.holdfast.chaos.history.Outcome;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Losses are reported: once, in time, and by the release. A holder that saw the loss before its release sees it again
 * by the release's exception; one whose lease has been invalid for half a second was notified.
 */
public final class LossCheck implements Check {
    /** The name. */
    public static final String NAME = "L losses reported";

    private static final long TOLD_NANOS = 500_000_000L;

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Optional<FaultKind> provokedBy() {
        return Optional.of(FaultKind.CLIENT_STOP);
    }

    @Override
    public Result check(Evidence evidence) {
        List<String> violations = new ArrayList<>();
        QuietPeriods calm = evidence.calm(false);
        long losses = 0;
        for (Operation operation : evidence.history().operations()) {
            losses += operation.lost == Operation.NEVER ? 0 : 1;
            if (operation.losses > 1) {
                violations.add(operation + " was told of its loss " + operation.losses + " times");
            }
            boolean toldBefore = operation.lost != Operation.NEVER
                    && operation.release != Operation.NEVER
                    && operation.lost < operation.release;
            if (toldBefore && operation.released != Operation.NEVER && operation.releaseOutcome == Outcome.OK) {
                violations.add(operation + " was lost, and its release said nothing");
            }
            boolean invalidForLong = operation.invalid != Operation.NEVER
                    && operation.release != Operation.NEVER
                    && operation.confirmed < operation.invalid
                    && operation.release - operation.invalid > TOLD_NANOS;
            if (invalidForLong
                    && operation.lost == Operation.NEVER
                    && operation.release - operation.invalid - calm.slack(operation.invalid, operation.release)
                            > TOLD_NANOS
                    && calm.throughout(operation.invalid, operation.release)) {
                violations.add(operation + " was invalid for " + (operation.release - operation.invalid) / 1_000_000
                        + " ms, and nobody was told");
            }
        }
        return Result.of(NAME, violations, Map.of("losses", losses), losses, "no lease was lost");
    }
}
