package dev.holdfast.chaos.check;

import dev.holdfast.chaos.fault.FaultKind;
import dev.holdfast.chaos.fault.Injection;
import dev.holdfast.chaos.history.Interval;
import dev.holdfast.chaos.history.OpKind;
import dev.holdfast.chaos.history.Operation;
import dev.holdfast.chaos.history.Outcome;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Every loss has a cause: a lease is lost only if a fault, or what follows one, was on within its length before, or the machine or the store
 * was slow then. The same holds for an answer that the store is unavailable. Bystanders, with which nothing is done, are the locks that
 * make most cases; how long one of them went without a renewal shows how much was left.
 */
public final class UnexplainedLossCheck implements Check {
    /** The name. */
    public static final String NAME = "S6 losses have a cause";

    /** After a server's fault, a group of servers may need as long to elect a leader, and clients to find it. */
    private static final long FAILOVER_NANOS = 20_000_000_000L;

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Result check(Evidence evidence) {
        List<String> violations = new ArrayList<>();
        QuietPeriods calm = evidence.calm(false);
        long leaseNanos = evidence.leaseMillis() * 1_000_000;
        long losses = 0;
        long cases = 0;
        long bystanders = 0;
        long bystandersLost = 0;
        long oldest = 0;
        for (Operation operation : evidence.history().operations()) {
            if (operation.kind == OpKind.NOT_RENEWED || operation.kind == OpKind.LEFT_TO_CLOSE) {
                continue; // the end of the lease, or of the client, takes it
            }
            boolean bystander = operation.kind == OpKind.BYSTANDER && operation.acquired != Operation.NEVER;
            if (operation.acquired != Operation.NEVER) {
                cases += operation.confirmed - operation.acquired > leaseNanos ? 1 : 0;
                bystanders += bystander ? 1 : 0;
                oldest = bystander ? Math.max(oldest, operation.renewalAge) : oldest;
            }
            long lost = lost(operation);
            if (lost != Operation.NEVER) {
                losses++;
                bystandersLost += bystander ? 1 : 0;
                if (isQuiet(evidence, calm, lost - 2 * leaseNanos, lost, slackNanos(operation, lost, leaseNanos))) {
                    violations.add(operation + " was lost at " + lost / 1_000_000 + " ms, and nothing had happened");
                }
            }
            if (operation.failure == Outcome.UNAVAILABLE
                    && operation.failed != Operation.NEVER
                    && isQuiet(evidence, calm, operation.invoked - leaseNanos, operation.failed, leaseNanos / 4)) {
                violations.add(operation + " found the store unavailable, and nothing had happened");
            }
        }
        return Result.of(
                NAME,
                violations,
                Map.of(
                        "losses",
                        losses,
                        "bystanders",
                        bystanders,
                        "bystanders lost",
                        bystandersLost,
                        "oldest renewal ms",
                        oldest / 1_000_000),
                cases,
                "no lease was held for longer than its length");
    }

    private static long lost(Operation operation) {
        if (operation.lost != Operation.NEVER) {
            return operation.lost;
        }
        return operation.releaseOutcome == Outcome.LOST ? operation.released : Operation.NEVER;
    }

    /** How slow the machine may be without being the cause: a quarter of the first lease if that is handed over, which is short. */
    private static long slackNanos(Operation operation, long lost, long leaseNanos) {
        return Math.min(leaseNanos / 3, Math.max(0, lost - operation.acquired) / 4);
    }

    private static boolean isQuiet(Evidence evidence, QuietPeriods calm, long from, long to, long slackNanos) {
        if (!calm.throughout(from, to) || calm.slack(from, to) > slackNanos) {
            return false;
        }
        for (Injection injection : evidence.injections()) {
            if (injection.fault().kind().where() == FaultKind.Where.SERVER
                    && new Interval("failover", injection.start(), injection.end() + FAILOVER_NANOS)
                            .overlaps(from, to)) {
                return false;
            }
        }
        return true;
    }
}
