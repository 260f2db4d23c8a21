package dev.holdfast.chaos.check;

import dev.holdfast.chaos.history.Operation;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.LongStream;

/**
 * No client asks without a pause. What a client sends is bounded by what it is asked for and by what the others end, since each of these may
 * wake it; without either, what is left is renewals and polls.
 */
public final class SpinningCheck implements Check {
    /** The name. */
    public static final String NAME = "S6 no spinning";

    /** Renewals, polls of all names and the upkeep of client libraries: more than twice what runs on any store have shown. */
    private static final long AT_REST_PER_SECOND = 250;

    /** A call of the client's own begins, gets its answer or ends, which takes requests to several servers. */
    private static final long PER_STEP = 4;

    /** What a release of any client wakes. */
    private static final long PER_CHANGE = 4;

    private static final long[] NONE = {};

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Result check(Evidence evidence) {
        QuietPeriods calm = evidence.calm(true);
        List<Operation> operations = evidence.history().operations();
        long[] ends = sorted(operations.stream().mapToLong(SpinningCheck::end));
        Map<Integer, long[]> steps = steps(operations);
        List<String> violations = new ArrayList<>();
        long cases = 0;
        long most = 0;
        double nearest = 0;
        for (Pace.Requests seen : evidence.pace().requests()) {
            long from = seen.time().start();
            long to = seen.time().end();
            if (to > evidence.stoppedNanos() || !calm.throughout(from, to)) {
                continue;
            }
            cases++;
            long asked = count(steps.getOrDefault(seen.client(), NONE), from, to);
            long changes = count(ends, from - (to - from), to); // what woke it may have come a moment before
            double bound = AT_REST_PER_SECOND * ((to - from) / 1e9) + PER_STEP * asked + PER_CHANGE * changes;
            most = Math.max(most, seen.count());
            nearest = Math.max(nearest, seen.count() / bound);
            if (seen.count() > bound) {
                violations.add(String.format(
                        Locale.ROOT,
                        "client %d sent %d requests from %d to %d ms; its calls had %d steps, and locks became free %d times",
                        seen.client(),
                        seen.count(),
                        from / 1_000_000,
                        to / 1_000_000,
                        asked,
                        changes));
            }
        }
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("most requests of a client in a second", most);
        facts.put("of the bound %", Math.round(nearest * 100));
        return Result.of(NAME, violations, facts, cases, "no second passed without a fault");
    }

    /** When the calls of each client began, had their answers, and ended. */
    private static Map<Integer, long[]> steps(List<Operation> operations) {
        Map<Integer, LongStream.Builder> all = new HashMap<>();
        for (Operation operation : operations) {
            LongStream.Builder steps = all.computeIfAbsent(operation.process.client(), any -> LongStream.builder());
            steps.add(operation.invoked).add(operation.answered()).add(operation.release);
        }
        Map<Integer, long[]> sorted = new HashMap<>();
        all.forEach((client, steps) -> sorted.put(client, sorted(steps.build())));
        return sorted;
    }

    /** When a lock, or a place in its line, became free. */
    private static long end(Operation operation) {
        return operation.release != Operation.NEVER ? operation.release : Math.max(operation.lost, operation.failed);
    }

    private static long[] sorted(LongStream instants) {
        return instants.filter(instant -> instant != Operation.NEVER).sorted().toArray();
    }

    private static long count(long[] sorted, long from, long to) {
        return indexOf(sorted, to) - indexOf(sorted, from);
    }

    private static int indexOf(long[] sorted, long instant) {
        int found = Arrays.binarySearch(sorted, instant);
        return found < 0 ? -found - 1 : found;
    }
}
