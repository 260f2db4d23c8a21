package dev.holdfast.chaos.check;

import dev.holdfast.chaos.history.Operation;
import dev.holdfast.lock.Demand;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;

/**
 * C4: there is an order of all calls, each at one instant between its invocation and its return, in which a lock with one
 * owner and a rising token would have answered the same (Herlihy and Wing 1990). The model, a name: a state (owner, depth,
 * token); {@code acquire} needs no owner and a higher token; re-entry and "is valid" need their owner; and from the last
 * instant at which its lease was found valid, an owner may be gone at any time: an optional {@code expire}, which also
 * stands for its release.
 *
 * <p>This is the search of Wing and Gong (1993), improved by Lowe (2017), in the special case that needs no search: tokens
 * rise, so of all acquisitions that have not been placed only the one with the lowest token may be next, because it could
 * not come after another; and observations of the present owner may be placed as soon as they were invoked, because they
 * change nothing. A lock that may be shared, and permits, are the same with room for more than one owner; what shares a
 * grant is one acquisition, and of reads among each other, tokens say nothing. Each acquisition is therefore placed as early as it can be, and the history is linearizable if none comes
 * too late. The test compares this with a search through all orders of small histories.
 */
public final class LinearizabilityCheck implements Check {
    /** The name. */
    public static final String NAME = "C4 linearizability";

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Result check(Evidence evidence) {
        List<String> violations = new ArrayList<>();
        long histories = 0;
        long calls = 0;
        for (List<Operation> ofName : evidence.history().byName().values()) {
            List<Granted> byToken = Granted.of(ofName).stream()
                    .sorted(Comparator.comparingLong(Granted::token))
                    .toList();
            histories++;
            for (Granted grant : byToken) {
                for (Operation operation : grant.all()) {
                    calls += 1 + (operation.claims() ? 1 : 0) + operation.reentries.size();
                }
            }
            place(byToken, violations);
        }
        return Result.of(NAME, violations, Map.of("histories", histories, "calls", calls), calls, "nobody got a lock");
    }

    private static void place(List<Granted> byToken, List<String> violations) {
        Capacity room = new Capacity();
        long last = Long.MIN_VALUE;
        Granted before = null;
        for (Granted grant : byToken) {
            long placed = Math.max(grant.invoked(), room.freeFor(grant.demand()));
            placed = grant.demand() instanceof Demand.Permits ? Math.max(last, placed) : placed;
            if (before != null && (placed > grant.acquired() || before.token() == grant.token())) {
                violations.add(grant + " cannot be placed after " + before);
            }
            for (Operation operation : grant.all()) {
                // A write that goes on as a read leaves room for other reads.
                room.take(operation.demand, Math.max(placed, lastSeen(operation)));
            }
            room.forget(last);
            last = Math.max(last, placed);
            before = grant;
        }
    }

    /** Until when its owner certainly had it. */
    private static long lastSeen(Operation operation) {
        long last = operation.claims() ? operation.confirmed : Long.MIN_VALUE;
        for (Operation.Reentry inner : operation.reentries) {
            last = Math.max(last, inner.call());
        }
        return last;
    }
}
