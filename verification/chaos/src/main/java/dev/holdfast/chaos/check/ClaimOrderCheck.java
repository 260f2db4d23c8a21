package dev.holdfast.chaos.check;

import dev.holdfast.chaos.history.Operation;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * S2, among claims: the later of two disjoint claims has the higher token. The first may have been asked for while the second
 * lasted; so this needs S1, and a store that gives two holders a lock over a failover breaks it then. Only claims that
 * could not be held at once are compared: one of them alone, or both in one slot.
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
            List<Granted> claims = Granted.of(ofName).stream()
                    .filter(Granted::claims)
                    .sorted(Comparator.comparingLong(Granted::acquired))
                    .toList();
            List<Granted> byEnd = claims.stream()
                    .sorted(Comparator.comparingLong(Granted::confirmed))
                    .toList();
            HighestTokens ended = new HighestTokens();
            int next = 0;
            for (Granted claim : claims) {
                while (next < byEnd.size() && byEnd.get(next).confirmed() < claim.acquired()) {
                    ended.add(byEnd.get(next++));
                }
                later += ended.excluding(claim) == null && ended.inSlotOf(claim) == null ? 0 : 1;
                judge(claim, ended, violations);
            }
        }
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("later claims", later);
        return Result.of(NAME, violations, facts, later, "no claim came after another");
    }

    private static void judge(Granted claim, HighestTokens ended, List<String> violations) {
        Granted excluding = ended.excluding(claim);
        Granted inSlot = ended.inSlotOf(claim);
        if (excluding != null && claim.token() < excluding.token() && excluding != claim) {
            violations.add(claim + " has a lower token than " + excluding + ", which ended before");
        } else if (inSlot != null && claim.token() < inSlot.token()) {
            violations.add(claim + " has a lower token than " + inSlot + ", which had the slot before");
        }
    }
}
