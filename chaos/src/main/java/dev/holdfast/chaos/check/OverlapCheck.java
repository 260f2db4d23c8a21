package dev.holdfast.chaos.check;

import dev.holdfast.chaos.history.Operation;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;

/**
 * S1: the claims of a lock are disjoint. A claim reaches from when the acquisition had returned to the last instant at
 * which its lease was found valid, an instant read before the lease was asked; so a pause shortens a claim and never
 * invents an overlap.
 */
public final class OverlapCheck implements Check {
    /** The name. */
    public static final String NAME = "S1 overlap";

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Result check(Evidence evidence) {
        List<String> violations = new ArrayList<>();
        long claims = 0;
        for (List<Operation> ofName : evidence.history().byName().values()) {
            List<Operation> sorted = ofName.stream()
                    .filter(Operation::claims)
                    .sorted(Comparator.comparingLong(operation -> operation.acquired))
                    .toList();
            claims += sorted.size();
            Operation latest = null;
            for (Operation claim : sorted) {
                if (latest != null && claim.acquired < latest.confirmed) {
                    violations.add(claim + " began while another was valid: " + latest);
                }
                if (latest == null || claim.confirmed > latest.confirmed) {
                    latest = claim;
                }
            }
        }
        return Result.of(NAME, violations, Map.of("claims", claims), claims, "no lease was found valid");
    }
}
