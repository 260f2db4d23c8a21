package dev.holdfast.chaos.check;

import dev.holdfast.chaos.fault.Fault;
import dev.holdfast.chaos.fault.FaultKind;
import dev.holdfast.chaos.history.Operation;
import dev.holdfast.chaos.history.Outcome;
import dev.holdfast.lock.testkit.server.network.Direction;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A leader that cannot keep its lease is notified before another one is elected, by an interrupt or by its revocation; and a leader that
 * finds that its leadership is over was notified within a tenth of a second. One that is cut off from the store, so that no other one is
 * elected before its lease has ended, is notified a third of the lease before: the time to stop that elections promise. All that by as
 * much later as a process or the machine was paused and the store was slow. The least time that was left shows how early it was.
 */
public final class LossNotificationCheck implements Check {
    /** The name. */
    public static final String NAME = "E loss in time";

    private static final long AT_ONCE_NANOS = 100_000_000L;

    /** Of the lease: the time to stop. */
    private static final int STOP_PART = 3;

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
        QuietPeriods calm = evidence.calm(true);
        long leaseNanos = evidence.leaseMillis() * 1_000_000;
        long lost = 0;
        long cutOff = 0;
        long least = Long.MAX_VALUE;
        long leastOfCutOff = Long.MAX_VALUE;
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
                long slack = calm.slack(Math.min(term.confirmed, told - leaseNanos), told);
                if (term.invalid != Operation.NEVER
                        && term.confirmed < term.invalid
                        && told - term.invalid > AT_ONCE_NANOS + slack) {
                    violations.add(term + " found its leadership over, and was told "
                            + (told - term.invalid) / 1_000_000 + " ms later");
                }
                if (term.releaseOutcome != Outcome.LOST) {
                    continue;
                }
                Operation next = i + 1 < terms.size() ? terms.get(i + 1) : null;
                long left = next == null ? Long.MAX_VALUE : next.acquired - told;
                boolean alone = next != null && isCutOff(term, told, next.acquired, evidence);
                long needed = alone ? leaseNanos / STOP_PART - AT_ONCE_NANOS : 0;
                if (left < needed && left + slack >= needed) {
                    continue; // it found out when it was awake again
                }
                lost++;
                least = Math.min(least, left);
                cutOff += alone ? 1 : 0;
                leastOfCutOff = alone ? Math.min(leastOfCutOff, left) : leastOfCutOff;
                if (left < 0) {
                    violations.add(term + " was told " + -left / 1_000_000 + " ms after the next was elected: " + next);
                } else if (left < needed) {
                    violations.add(term + " was cut off, and told only " + left / 1_000_000
                            + " ms before the next was elected: " + next);
                }
            }
        }
        return Result.of(
                NAME,
                violations,
                Map.of(
                        "told of a loss",
                        lost,
                        "least ms left",
                        millis(least),
                        "cut off",
                        cutOff,
                        "then least ms",
                        millis(leastOfCutOff)),
                lost,
                "no leader had to stop");
    }

    /** Of a time that was measured; there may be no election after them. */
    private static Object millis(long nanos) {
        return nanos == Long.MAX_VALUE ? "none" : nanos / 1_000_000;
    }

    /** When it was interrupted or revoked; {@link Long#MAX_VALUE} if neither. */
    private static long told(Operation term) {
        long interrupted = term.told == Operation.NEVER ? Long.MAX_VALUE : term.told;
        return Math.min(interrupted, term.release == Operation.NEVER ? Long.MAX_VALUE : term.release);
    }

    /** Whether nothing of its process has reached the store in that time, its release neither. */
    private static boolean isCutOff(Operation term, long from, long to, Evidence evidence) {
        return evidence.injections().stream()
                .anyMatch(injection -> injection.client() == term.process.client()
                        && keepsRequests(injection.fault())
                        && injection.start() <= from
                        && injection.end() >= to);
    }

    private static boolean keepsRequests(Fault fault) {
        return fault.kind() == FaultKind.NET_CUT
                || fault.kind() == FaultKind.NET_BLACK_HOLE
                        && fault.direction().orElse(Direction.TO_SERVER) == Direction.TO_SERVER;
    }
}
