package dev.holdfast.chaos.check;

import dev.holdfast.chaos.fault.FaultKind;
import dev.holdfast.chaos.history.Operation;
import dev.holdfast.chaos.history.Outcome;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A leader that cannot keep its lease is told before the lease ends: before anybody else is elected, by an interrupt or by
 * its revocation; and whoever finds that its leadership is over was told within half a second. Being late is excused where its
 * process or the machine stood still. The least time that was left shows how early it was.
 */
public final class ToldCheck implements Check {
    /** The name. */
    public static final String NAME = "E loss in time";

    private static final long AT_ONCE_NANOS = 500_000_000L;

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Optional<FaultKind> provokedBy() {
        return Optional.of(FaultKind.NET_BLACK_HOLE);
    }

    @Override
    public Result check(Evidence evidence) {
        List<String> violations = new ArrayList<>();
        Calm calm = evidence.calm(true);
        long leaseNanos = evidence.leaseMillis() * 1_000_000;
        long lost = 0;
        long least = Long.MAX_VALUE;
        for (List<Operation> ofName : evidence.history().byName().values()) {
            List<Operation> terms = ofName.stream()
                    .filter(Operation::claims)
                    .sorted(Comparator.comparingLong(operation -> operation.acquired))
                    .toList();
            for (int i = 0; i < terms.size(); i++) {
                Operation term = terms.get(i);
                long told = told(term);
                if (told == Long.MAX_VALUE) {
                    continue; // killed
                }
                boolean smooth = calm.smooth(told - leaseNanos, told);
                if (smooth
                        && term.invalid != Operation.NEVER
                        && term.confirmed < term.invalid
                        && told - term.invalid > AT_ONCE_NANOS) {
                    violations.add(term + " found its leadership over, and was told "
                            + (told - term.invalid) / 1_000_000 + " ms later");
                }
                if (term.releaseOutcome != Outcome.LOST) {
                    continue;
                }
                long left = i + 1 < terms.size() ? terms.get(i + 1).acquired - told : Long.MAX_VALUE;
                if (left < 0 && !smooth) {
                    continue; // it found out when it was awake again
                }
                lost++;
                least = Math.min(least, left);
                if (left < 0) {
                    violations.add(term + " was told " + -left / 1_000_000 + " ms after the next was elected: "
                            + terms.get(i + 1));
                }
            }
        }
        return Result.of(
                NAME,
                violations,
                Map.of("told of a loss", lost, "least ms left", least / 1_000_000),
                lost,
                "no leader had to stop");
    }

    /** When it was interrupted or revoked; {@link Long#MAX_VALUE} if neither. */
    private static long told(Operation term) {
        long interrupted = term.told == Operation.NEVER ? Long.MAX_VALUE : term.told;
        return Math.min(interrupted, term.release == Operation.NEVER ? Long.MAX_VALUE : term.release);
    }
}
