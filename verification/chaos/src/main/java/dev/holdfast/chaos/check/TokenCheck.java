package dev.holdfast.chaos.check;

import dev.holdfast.chaos.history.Operation;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * S2: tokens rise. An acquisition that was asked for after another had returned, with which it could not be held at once, has the
 * higher token; no two grants share a token; and re-entry keeps it. {@link ClaimOrderCheck} has the rule for claims.
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
            List<Granted> granted = Granted.of(ofName);
            grants += granted.size();
            unique(granted, violations);
            rising(granted, violations);
            for (Operation operation : ofName) {
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

    private static void unique(List<Granted> granted, List<String> violations) {
        Map<Long, Granted> byToken = new HashMap<>();
        for (Granted grant : granted) {
            Granted other = byToken.put(grant.token(), grant);
            if (other != null) {
                violations.add(grant + " has the token of " + other);
            }
        }
    }

    /** In the order of their calls, each against the highest token that was returned before it was asked for. */
    private static void rising(List<Granted> granted, List<String> violations) {
        List<Granted> byReturn = granted.stream()
                .sorted(Comparator.comparingLong(Granted::acquired))
                .toList();
        int next = 0;
        HighestTokens returned = new HighestTokens();
        for (Granted grant : granted) {
            while (next < byReturn.size() && byReturn.get(next).acquired() < grant.invoked()) {
                returned.add(byReturn.get(next++));
            }
            Granted highest = returned.excluding(grant);
            if (highest != null && grant.token() < highest.token()) {
                violations.add(grant + " was asked for after " + highest + " had returned");
            }
        }
    }
}
