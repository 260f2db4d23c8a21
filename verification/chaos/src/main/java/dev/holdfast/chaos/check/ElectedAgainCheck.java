package dev.holdfast.chaos.check;

import dev.holdfast.chaos.fault.FaultKind;
import dev.holdfast.chaos.fault.Injection;
import dev.holdfast.chaos.history.Operation;
import dev.holdfast.chaos.history.Outcome;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * C5 of elections: after a leader was killed, and after it resigned, another one is elected soon, if there is a candidate and
 * nothing else disturbs: by as much later as the machine was paused and the store was slow.
 */
public final class ElectedAgainCheck implements Check {
    /** The name. */
    public static final String NAME = "C5 elected again";

    private static final long RESIGNED_NANOS = 3_000_000_000L;

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Optional<FaultKind> provokedBy() {
        return Optional.of(FaultKind.CLIENT_KILL);
    }

    /** The end of a leadership. */
    private record End(Operation leader, long free, long boundNanos) {}

    @Override
    public Result check(Evidence evidence) {
        List<String> violations = new ArrayList<>();
        List<Long> deaths = new ArrayList<>();
        List<Long> resignations = new ArrayList<>();
        QuietPeriods calm = evidence.calm(true);
        Map<Integer, List<Operation>> byName = evidence.history().byName();
        long boundNanos = 2 * evidence.leaseMillis() * 1_000_000 + RESIGNED_NANOS;
        for (Operation leader : evidence.history().operations()) {
            List<Operation> ofName = byName.getOrDefault(leader.name, List.of());
            killed(leader, evidence)
                    .ifPresent(
                            at -> judge(new End(leader, at, boundNanos), ofName, evidence, calm, deaths, violations));
            if (leader.released != Operation.NEVER && leader.releaseOutcome == Outcome.OK) {
                judge(
                        new End(leader, leader.released, RESIGNED_NANOS),
                        ofName,
                        evidence,
                        calm,
                        resignations,
                        violations);
            }
        }
        return Result.of(
                NAME,
                violations,
                Map.of(
                        "after deaths",
                        (long) deaths.size(),
                        "max ms",
                        deaths.stream().mapToLong(each -> each).max().orElse(0),
                        "after resignations",
                        (long) resignations.size(),
                        "then max ms",
                        resignations.stream().mapToLong(each -> each).max().orElse(0)),
                deaths.size(),
                "no leader was killed while somebody stood and nothing else disturbed");
    }

    private static Optional<Long> killed(Operation leader, Evidence evidence) {
        return evidence.injections().stream()
                .filter(kill -> kill.fault().kind() == FaultKind.CLIENT_KILL
                        && leader.process.client() == kill.client()
                        && leader.claims()
                        && leader.acquired < kill.end()
                        && leader.release == Operation.NEVER
                        && leader.lost == Operation.NEVER
                        && kill.start() - leader.confirmed < 500_000_000L)
                .map(Injection::end)
                .filter(end -> end > leader.confirmed)
                .min(Long::compare);
    }

    private static void judge(
            End end,
            List<Operation> ofName,
            Evidence evidence,
            QuietPeriods calm,
            List<Long> millis,
            List<String> violations) {
        long next = ofName.stream()
                .filter(operation -> operation != end.leader() && operation.acquired > end.free())
                .mapToLong(operation -> operation.acquired)
                .min()
                .orElse(Long.MAX_VALUE);
        long bound = end.boundNanos() + calm.slack(end.free(), end.free() + end.boundNanos());
        long until = Math.min(Math.min(next, end.free() + bound + 1), evidence.stoppedNanos());
        boolean stood = ofName.stream()
                .anyMatch(operation ->
                        operation.invoked + operation.rests <= end.free() && evidence.endOfWait(operation) >= until);
        if (!stood || !calm.throughout(end.free(), until)) {
            return;
        }
        if (next - end.free() > bound && until - end.free() > bound) {
            violations.add("nobody was elected in the " + bound / 1_000_000 + " ms after the end of " + end.leader());
        } else if (next != Long.MAX_VALUE) {
            millis.add((next - end.free()) / 1_000_000);
        }
    }
}
