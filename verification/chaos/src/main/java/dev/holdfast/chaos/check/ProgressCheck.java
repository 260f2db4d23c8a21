package dev.holdfast.chaos.check;

import dev.holdfast.chaos.history.Operation;
import dev.holdfast.chaos.history.Outcome;
import dev.holdfast.chaos.history.Part;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * No client waits for several locks forever. An attempt with a deadline has ended within a second after it, if nothing disturbs:
 * by as much later as the machine was paused and the store was slow. One without gets its locks when no client begins anything new, so that all that is
 * held is released one after the other: if none was acquired or released for five seconds, those who wait when their client
 * is closed wait in a circle.
 */
public final class ProgressCheck implements Check {
    /** The name. */
    public static final String NAME = "M deadlines";

    private static final long LATE_NANOS = 1_000_000_000L;
    private static final long SILENT_NANOS = 5_000_000_000L;

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Result check(Evidence evidence) {
        List<String> violations = new ArrayList<>();
        QuietPeriods calm = evidence.calm(true);
        long bounded = 0;
        long endless = 0;
        long latest = 0;
        long lastStep = lastStep(evidence);
        for (Operation operation : evidence.history().operations()) {
            Part part = operation.part;
            if (part == null) {
                continue;
            }
            long answered = operation.answered();
            if (part.patienceMillis() < 0) {
                endless++;
                boolean closed = operation.failure == Outcome.CLOSED
                        || answered == Long.MAX_VALUE
                                && evidence.history().ends().containsKey(operation.process);
                long end = Math.min(answered, evidence.lengthNanos());
                if (closed && end - Math.max(lastStep, operation.invoked) > SILENT_NANOS) {
                    violations.add(operation + " waited since " + operation.invoked / 1_000_000
                            + " ms until its client was closed, although nobody had got or released a lock since "
                            + lastStep / 1_000_000 + " ms");
                }
            } else if (answered != Long.MAX_VALUE
                    && evidence.isWarm(operation)
                    && calm.throughout(operation.invoked, answered)) {
                long late = answered - operation.invoked - part.patienceMillis() * 1_000_000L;
                long slack = calm.slack(operation.invoked, answered);
                if (slack > LATE_NANOS && late > LATE_NANOS) {
                    continue;
                }
                bounded++;
                latest = Math.max(latest, late);
                if (late > LATE_NANOS + slack) {
                    violations.add(operation + " ended " + late / 1_000_000 + " ms after its deadline of "
                            + part.patienceMillis() + " ms");
                }
            }
        }
        return Result.of(
                NAME,
                violations,
                Map.of("with a deadline", bounded, "latest ms", latest / 1_000_000, "without", endless),
                Math.min(bounded, endless),
                "nobody asked for several locks both with a deadline and without, undisturbed");
    }

    /** When several locks were acquired or released last. */
    private static long lastStep(Evidence evidence) {
        return evidence.history().operations().stream()
                .filter(operation -> operation.part != null)
                .mapToLong(operation -> Math.max(operation.acquired, operation.released))
                .max()
                .orElse(0);
    }
}
