package dev.holdfast.chaos.check;

import dev.holdfast.chaos.history.Operation;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;

/**
 * S2, among claims: the later of two disjoint claims has the higher token. The first may have been asked for while the second
 * lasted; so this needs S1, and a store that gives two holders a lock over a failover breaks it then.
 */
public final class ClaimOrderCheck implements Check {
    /** The name. */
    public static final String NAME = "S2 claims";

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Result check(Evidence evidence) {
        List<String> violations = new ArrayList<>();
        long later = 0;
        for (List<Operation> ofName : evidence.history().byName().values()) {
            later += disjointClaims(ofName.stream().filter(Operation::claims).toList(), violations);
        }
        return Result.of(NAME, violations, Map.of("later claims", later), later, "no claim came after another");
    }

    private static long disjointClaims(List<Operation> granted, List<String> violations) {
        List<Operation> claims = granted.stream()
                .sorted(Comparator.comparingLong(operation -> operation.acquired))
                .toList();
        List<Operation> byEnd = claims.stream()
                .sorted(Comparator.comparingLong(operation -> operation.confirmed))
                .toList();
        int ended = 0;
        long later = 0;
        Operation highest = null;
        for (Operation claim : claims) {
            while (ended < byEnd.size() && byEnd.get(ended).confirmed < claim.acquired) {
                Operation before = byEnd.get(ended++);
                highest = highest == null || before.token > highest.token ? before : highest;
            }
            later += highest == null ? 0 : 1;
            if (highest != null && claim.token < highest.token && highest != claim) {
                violations.add(claim + " has a lower token than " + highest + ", which ended before");
            }
        }
        return later;
    }
}
