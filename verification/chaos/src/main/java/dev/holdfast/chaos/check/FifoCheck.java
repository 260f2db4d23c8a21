package dev.holdfast.chaos.check;

import dev.holdfast.chaos.history.OpKind;
import dev.holdfast.chaos.history.Operation;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * C7: who asked a second later (and as much later as machine and store were slow) does not get the lock first, unless there is room for both. Looks at the locks that have one thread a client, so that
 * each call is one place in the server's queue, and only where nothing disturbs, a process's first seconds among it.
 */
public final class FifoCheck implements Check {
    /** The name. */
    public static final String NAME = "C7 order";

    /** Why it is not judged on a store without an order. */
    public static final String NOT_PROMISED = "the store promises no order";

    private static final long APART_NANOS = 1_000_000_000L;
    private static final long WARM_UP_NANOS = 5_000_000_000L;

    private final boolean promised;

    /**
     * Makes the check.
     *
     * @param promised whether the store serves those who wait in order
     */
    public FifoCheck(boolean promised) {
        this.promised = promised;
    }

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Result check(Evidence evidence) {
        if (!promised) {
            return new Result(NAME, List.of(), Map.of(), 0, NOT_PROMISED);
        }
        List<String> violations = new ArrayList<>();
        QuietPeriods calm = evidence.calm(false);
        long pairs = 0;
        Map<Operation.Process, Long> begun = new HashMap<>();
        evidence.history().operations().forEach(each -> begun.merge(each.process, each.invoked, Math::min));
        for (List<Operation> ofName : evidence.history().byName().values()) {
            List<Operation> calls = ofName.stream()
                    .filter(operation -> operation.kind == OpKind.FIFO)
                    .filter(operation -> operation.invoked - begun.getOrDefault(operation.process, 0L) >= WARM_UP_NANOS)
                    .sorted(Comparator.comparingLong(operation -> operation.invoked))
                    .toList();
            for (int i = 0; i < calls.size(); i++) {
                Operation first = calls.get(i);
                for (int j = i + 1; j < calls.size() && calls.get(j).invoked < first.answered(); j++) {
                    Operation second = calls.get(j);
                    if (first.demand.leavesRoomFor(second.demand)
                            || second.invoked - first.invoked < APART_NANOS
                            || second.acquired == Operation.NEVER
                            || second.invoked - first.invoked - calm.slack(first.invoked, second.invoked) < APART_NANOS
                            || !calm.throughout(first.invoked, Math.min(second.acquired, first.answered()))) {
                        continue;
                    }
                    pairs++;
                    if (second.acquired < first.answered()) {
                        violations.add(second + " overtook a call of client " + first.process + " that was "
                                + (second.invoked - first.invoked) / 1_000_000 + " ms older");
                    }
                }
            }
        }
        return Result.of(
                NAME,
                violations,
                Map.of("pairs", pairs),
                pairs,
                "no two callers that wait in order came a second apart while nothing disturbed");
    }
}
