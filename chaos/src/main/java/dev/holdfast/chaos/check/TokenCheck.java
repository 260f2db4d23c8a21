package dev.holdfast.chaos.check;

import dev.holdfast.chaos.history.Operation;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * S2: tokens rise. An acquisition that was asked for after another had returned has the higher token; no two acquisitions
 * share a token; and re-entry keeps it. {@link ClaimOrderCheck} has the rule for claims.
 */
public final class TokenCheck implements Check {
    /** The name. */
    public static final String NAME = "S2 tokens";

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Result check(Evidence evidence) {
        List<String> violations = new ArrayList<>();
        long reentries = 0;
        long grants = 0;
        for (List<Operation> ofName : evidence.history().byName().values()) {
            List<Operation> granted = ofName.stream()
                    .filter(operation -> operation.acquired != Operation.NEVER)
                    .toList();
            grants += granted.size();
            unique(granted, violations);
            rising(granted, violations);
            for (Operation operation : granted) {
                for (Operation.Reentry inner : operation.reentries) {
                    reentries++;
                    if (inner.token() != operation.token) {
                        violations.add(operation + " was entered again with token " + inner.token());
                    }
                }
            }
        }
        return Result.of(NAME, violations, Map.of("re-entries", reentries), grants, "nobody got a lock");
    }

    private static void unique(List<Operation> granted, List<String> violations) {
        Map<Long, Operation> byToken = new HashMap<>();
        for (Operation operation : granted) {
            Operation other = byToken.put(operation.token, operation);
            if (other != null) {
                violations.add(operation + " has the token of " + other);
            }
        }
    }

    /** In the order of their calls, each against the highest token that was returned before it was asked for. */
    private static void rising(List<Operation> granted, List<String> violations) {
        List<Operation> byInvocation = granted.stream()
                .sorted(Comparator.comparingLong(operation -> operation.invoked))
                .toList();
        List<Operation> byReturn = granted.stream()
                .sorted(Comparator.comparingLong(operation -> operation.acquired))
                .toList();
        int returned = 0;
        Operation highest = null;
        for (Operation operation : byInvocation) {
            while (returned < byReturn.size() && byReturn.get(returned).acquired < operation.invoked) {
                Operation before = byReturn.get(returned++);
                highest = highest == null || before.token > highest.token ? before : highest;
            }
            if (highest != null && operation.token < highest.token) {
                violations.add(operation + " was asked for after " + highest + " had returned");
            }
        }
    }
}
