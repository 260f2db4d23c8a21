package dev.holdfast.chaos.check;

import dev.holdfast.chaos.history.Operation;
import dev.holdfast.chaos.history.Outcome;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;

/**
 * C6: while somebody waits, a released lock is not left free for longer than two undisturbed seconds, neither until the next
 * grant nor, if there is none, until the clients are told to stop.
 */
public final class WakeUpCheck implements Check {
    /** The name. */
    public static final String NAME = "C6 wake-up";

    private static final long BOUND_NANOS = 2_000_000_000L;

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Result check(Evidence evidence) {
        List<String> violations = new ArrayList<>();
        Calm calm = evidence.calm(false);
        long longest = 0;
        long cases = 0;
        for (List<Operation> ofName : evidence.history().byName().values()) {
            List<Operation> granted = ofName.stream()
                    .filter(operation -> operation.acquired != Operation.NEVER)
                    .sorted(Comparator.comparingLong(operation -> operation.acquired))
                    .toList();
            List<Operation> waiters = ofName.stream()
                    .filter(operation ->
                            operation.kind.waits() && operation.answered() - operation.invoked > BOUND_NANOS / 4)
                    .toList();
            List<Operation> doubtful = ofName.stream()
                    .filter(operation -> operation.failure == Outcome.UNAVAILABLE || operation.failure == Outcome.LOST)
                    .sorted(Comparator.comparingLong(operation -> operation.failed))
                    .toList();
            int doubts = 0;
            long free = Long.MIN_VALUE;
            for (int i = 0; i < granted.size(); i++) {
                free = Math.max(free, freedBy(granted.get(i), evidence.leaseMillis()));
                boolean last = i + 1 == granted.size();
                long next = last ? evidence.stoppedNanos() : granted.get(i + 1).acquired;
                while (doubts < doubtful.size() && doubtful.get(doubts).failed < next) {
                    free = Math.max(free, forgotten(doubtful.get(doubts++).failed, evidence.leaseMillis()));
                }
                long waited = 0;
                for (Operation waiter : waiters) {
                    long until = evidence.endOfWait(waiter);
                    if (until >= next && waiter.invoked < next) {
                        waited = Math.max(waited, calm.longest(Math.max(free, waiter.invoked), next));
                    }
                }
                cases += waited > 0 ? 1 : 0;
                longest = Math.max(longest, waited);
                if (waited > BOUND_NANOS) {
                    violations.add("free for " + waited / 1_000_000 + " undisturbed ms while somebody waited, "
                            + (last ? "from then to the stop: " + granted.get(i) : "until " + granted.get(i + 1)));
                }
            }
        }
        return Result.of(
                NAME,
                violations,
                Map.of("longest ms", longest / 1_000_000, "undisturbed", cases),
                cases,
                "no lock became free while somebody waited and nothing disturbed");
    }

    /** When the lock was free again at the latest: released, or forgotten by the server after its holder was lost. */
    private static long freedBy(Operation operation, long leaseMillis) {
        boolean released = operation.released != Operation.NEVER
                && operation.releaseOutcome == Outcome.OK
                && operation.released - operation.release < 500_000_000L;
        if (released) {
            return operation.released;
        }
        long last = Math.max(
                Math.max(operation.acquired, operation.confirmed), Math.max(operation.released, operation.lost));
        return forgotten(last, leaseMillis);
    }

    /** When the server has forgotten what it was last told at that time. */
    private static long forgotten(long last, long leaseMillis) {
        return last + 2 * leaseMillis * 1_000_000 + 1_000_000_000L;
    }
}
