package dev.holdfast.chaos;

import dev.holdfast.chaos.check.Checks;
import dev.holdfast.chaos.check.Evidence;
import dev.holdfast.chaos.check.FifoCheck;
import dev.holdfast.chaos.check.Result;
import dev.holdfast.chaos.cluster.Cluster;
import dev.holdfast.chaos.fault.FaultKind;
import dev.holdfast.chaos.fault.Injection;
import dev.holdfast.chaos.history.History;
import dev.holdfast.chaos.history.Operation;
import dev.holdfast.chaos.history.Outcome;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What a run has shown.
 *
 * @param plan what was run
 * @param cluster on what
 * @param exclusive whether the store promises S1
 * @param evidence what happened
 * @param results what the checks found
 * @param unguarded writes and lost updates of the register that accepts every write
 * @param faultsFrom when the first fault could be
 * @param invalid why the run proves nothing; empty if it does
 */
record Verdict(
        RunPlan plan,
        String cluster,
        boolean exclusive,
        Evidence evidence,
        List<Result> results,
        long[] unguarded,
        long faultsFrom,
        List<String> invalid) {
    /** The least that must be done before the first fault, and in all, a client. */
    private static final long MIN_BEFORE = 2;

    private static final long LEAST = 5;

    private static final long STOPPED_NANOS = 250_000_000L;

    static Verdict of(
            RunPlan plan,
            Cluster cluster,
            Evidence evidence,
            List<Result> results,
            long[] unguarded,
            long faultsFrom,
            List<String> problems,
            String logs) {
        List<String> invalid = new ArrayList<>(problems);
        gate(plan, evidence, faultsFrom, logs, invalid);
        return new Verdict(
                plan,
                cluster.description(),
                cluster.exclusive(),
                evidence,
                List.copyOf(results),
                unguarded,
                faultsFrom,
                List.copyOf(invalid));
    }

    /** A run with too little work, or whose faults left no trace, proves nothing. */
    private static void gate(RunPlan plan, Evidence evidence, long faultsFrom, String logs, List<String> invalid) {
        History history = evidence.history();
        long before = history.operations().stream()
                .filter(operation -> operation.acquired != Operation.NEVER && operation.acquired < faultsFrom)
                .count();
        int clients = plan.profile().clients();
        if (before < MIN_BEFORE * clients) {
            invalid.add("only " + before + " acquisitions before the first fault");
        }
        if (history.acquisitions() < LEAST * clients) {
            invalid.add("only " + history.acquisitions() + " acquisitions");
        }
        long other = history.operations().stream()
                .filter(operation -> operation.failure == Outcome.OTHER || operation.releaseOutcome == Outcome.OTHER)
                .count();
        if (other > 0) {
            invalid.add(other + " calls failed with exceptions that are not documented; see the client logs: "
                    + logs.lines()
                            .filter(line -> line.contains("unexpected"))
                            .findFirst()
                            .orElse("(nothing there)"));
        }
        Map<FaultKind.Where, Integer> done = new EnumMap<>(FaultKind.Where.class);
        Set<FaultKind.Where> traced = EnumSet.noneOf(FaultKind.Where.class);
        for (Injection injection : evidence.injections()) {
            FaultKind.Where where = injection.fault().kind().where();
            done.merge(where, 1, Integer::sum);
            if (leftTrace(injection, evidence)) {
                traced.add(where);
            }
        }
        done.forEach((where, count) -> {
            if (count >= 3 && !traced.contains(where)) {
                invalid.add(count + " faults of the kind " + where + " left no trace");
            }
        });
        if (done.isEmpty()
                && plan.length().toSeconds() >= 20
                && !plan.profile().weights().isEmpty()) {
            invalid.add("there was no fault");
        }
    }

    /**
     * Whether a client noticed: a process that was paused or died, a failed call or renewal, a loss. Of a move no client must
     * notice anything; the servers have said that it is done.
     */
    static boolean leftTrace(Injection injection, Evidence evidence) {
        if (injection.fault().kind() == FaultKind.CLIENT_KILL
                || injection.fault().kind() == FaultKind.SLOT_MOVE) {
            return true;
        }
        long start = injection.start();
        long end = injection.end() + evidence.leaseMillis() * 1_000_000;
        History history = evidence.history();
        if (injection.fault().kind() == FaultKind.CLIENT_STOP) {
            return history.hiccups().entrySet().stream()
                    .filter(process -> process.getKey().client() == injection.client())
                    .flatMap(process -> process.getValue().stream())
                    .anyMatch(hiccup ->
                            hiccup.overlaps(start, injection.end()) && hiccup.end() - hiccup.start() >= STOPPED_NANOS);
        }
        return history.suspects().stream().anyMatch(suspect -> suspect >= start && suspect <= end)
                || history.operations().stream().anyMatch(operation -> noticed(operation, start, end));
    }

    private static boolean noticed(Operation operation, long start, long end) {
        boolean failed = operation.failed >= start
                && operation.failed <= end
                && (operation.failure == Outcome.UNAVAILABLE || operation.failure == Outcome.LOST);
        boolean lost = operation.lost >= start && operation.lost <= end;
        boolean released = operation.released >= start && operation.released <= end;
        boolean late = operation.releaseOutcome == Outcome.LOST || operation.releaseOutcome == Outcome.UNAVAILABLE;
        boolean slow = operation.released - operation.release > 200_000_000;
        return failed || lost || released && (late || slow);
    }

    /** All violations but those of a promise that the store does not make: exclusion over a failover. */
    List<String> failures() {
        List<String> failures = new ArrayList<>();
        for (Result result : results) {
            if (isPromised(result)) {
                result.violations().forEach(violation -> failures.add(result.check() + ": " + violation));
            }
        }
        failures.addAll(awayFromFailovers());
        return failures;
    }

    /** Whether the store promises it under all of these faults. */
    boolean isPromised(Result result) {
        return exclusive
                || Checks.exclusion(plan.workload()).stream()
                        .noneMatch(check -> check.name().equals(result.check()));
    }

    /** Without a failover, every store promises exclusion. */
    private List<String> awayFromFailovers() {
        if (exclusive) {
            return List.of();
        }
        Evidence steady = evidence.withoutFailovers();
        return Checks.exclusion(plan.workload()).stream()
                .flatMap(check -> check.check(steady).violations().stream()
                        .map(violation -> check.name() + " without a failover: " + violation))
                .toList();
    }

    /** The checks that had no case, of those whose promise this store makes. */
    List<Result> notJudged() {
        return results.stream()
                .filter(result -> !result.isJudged() && isExpected(result))
                .toList();
    }

    /** Whether this store makes the promise at all. */
    static boolean isExpected(Result result) {
        return !result.notJudged().equals(FifoCheck.NOT_PROMISED);
    }

    boolean good() {
        return invalid.isEmpty() && failures().isEmpty();
    }

    long losses() {
        return evidence.history().operations().stream()
                .filter(operation -> operation.lost != Operation.NEVER)
                .count();
    }
}
