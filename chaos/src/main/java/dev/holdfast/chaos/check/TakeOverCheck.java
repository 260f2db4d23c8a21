package dev.holdfast.chaos.check;

import dev.holdfast.chaos.fault.FaultKind;
import dev.holdfast.chaos.fault.Injection;
import dev.holdfast.chaos.history.Operation;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * C5: after the holder was killed, somebody who waits gets the lock about a lease later. Only where nothing else disturbs.
 * The bound is generous; the percentiles are what counts.
 */
public final class TakeOverCheck implements Check {
    /** The name. */
    public static final String NAME = "C5 take-over";

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Optional<FaultKind> provokedBy() {
        return Optional.of(FaultKind.CLIENT_KILL);
    }

    @Override
    public Result check(Evidence evidence) {
        List<String> violations = new ArrayList<>();
        List<Long> millis = new ArrayList<>();
        long kills = 0;
        long holds = 0;
        Calm calm = evidence.calm(true);
        Map<Integer, List<Operation>> byName = evidence.history().byName();
        long boundNanos = 2 * evidence.leaseMillis() * 1_000_000 + 3_000_000_000L;
        for (Injection kill : evidence.injections()) {
            if (kill.fault().kind() != FaultKind.CLIENT_KILL) {
                continue;
            }
            kills++;
            for (Operation held : evidence.history().operations()) {
                if (heldAtDeath(held, kill)) {
                    holds++;
                    List<Operation> ofName = byName.getOrDefault(held.name, List.of());
                    long next = next(ofName, held, kill);
                    long until = Math.min(Math.min(next, kill.end() + boundNanos + 1), evidence.lengthNanos());
                    if (!waited(ofName, kill.end(), until) || !calm.throughout(kill.start(), until)) {
                        continue;
                    }
                    if (next - kill.end() > boundNanos && until - kill.end() > boundNanos) {
                        violations.add("nobody took over " + boundNanos / 1_000_000 + " ms after the death of " + held);
                    } else if (next != Long.MAX_VALUE) {
                        millis.add((next - kill.end()) / 1_000_000);
                    }
                }
            }
        }
        return Result.of(
                NAME,
                violations,
                percentiles(millis),
                millis.size(),
                kills + " clients were killed with " + holds
                        + " locks, none of which somebody waited for while nothing else disturbed");
    }

    private static boolean heldAtDeath(Operation held, Injection kill) {
        return held.process.client() == kill.client()
                && held.claims()
                && held.acquired < kill.end()
                && held.release == Operation.NEVER
                && held.lost == Operation.NEVER
                && kill.start() - held.confirmed < 500_000_000L;
    }

    private static long next(List<Operation> ofName, Operation held, Injection kill) {
        return ofName.stream()
                .filter(operation -> operation != held && operation.acquired > kill.end())
                .mapToLong(operation -> operation.acquired)
                .min()
                .orElse(Long.MAX_VALUE);
    }

    private static boolean waited(List<Operation> ofName, long from, long until) {
        return ofName.stream()
                .anyMatch(operation ->
                        operation.kind.waits() && operation.invoked <= from && operation.answered() >= until);
    }

    private static Map<String, Object> percentiles(List<Long> millis) {
        List<Long> sorted = millis.stream().sorted().toList();
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("take-overs", (long) sorted.size());
        if (!sorted.isEmpty()) {
            facts.put("p50 ms", sorted.get(sorted.size() / 2));
            facts.put("p90 ms", sorted.get(sorted.size() * 9 / 10));
            facts.put("max ms", sorted.get(sorted.size() - 1));
        }
        return facts;
    }
}
