package dev.holdfast.chaos.check;

import dev.holdfast.chaos.history.Operation;
import dev.holdfast.lock.Demand;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * S1: the claims of a lock leave each other room. An exclusive holder is alone, permits are together no more than the
 * limit, and no two of their holders have one slot. A claim reaches from when the acquisition had returned to the last
 * instant at which its lease was found valid, an instant read before the lease was asked; so a pause shortens a claim and
 * never invents an overlap.
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
        long shares = 0;
        long lateNanos = 0;
        int mostShares = 0;
        int mostPermits = 0;
        for (List<Operation> ofName : evidence.history().byName().values()) {
            List<Operation> sorted = ofName.stream()
                    .filter(Operation::claims)
                    .sorted(Comparator.comparingLong(operation -> operation.acquired))
                    .toList();
            claims += sorted.size();
            List<Operation> held = new ArrayList<>();
            for (Operation claim : sorted) {
                for (Operation other : held) {
                    if (other.believed != Operation.NEVER) {
                        lateNanos = Math.max(lateNanos, Math.min(other.believed, claim.confirmed) - claim.acquired);
                    }
                }
                held.removeIf(other -> Math.max(other.confirmed, other.believed) <= claim.acquired);
                String violation = violation(
                        claim,
                        held.stream()
                                .filter(other -> other.confirmed > claim.acquired)
                                .toList());
                if (!violation.isEmpty()) {
                    violations.add(claim + violation);
                }
                held.add(claim);
                if (claim.demand instanceof Demand.Shared) {
                    shares++;
                    mostShares = Math.max(mostShares, held.size());
                }
                mostPermits = Math.max(mostPermits, permits(held));
            }
        }
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("claims", claims);
        if (lateNanos > 0) {
            facts.put("longest ms of two claims until the end of a session was noticed", lateNanos / 1_000_000);
        }
        if (shares > 0) {
            facts.put("shares", shares);
            facts.put("most at once", mostShares);
        }
        if (mostPermits > 0) {
            facts.put("most permits", mostPermits);
        }
        // Shares alone cannot break it.
        return Result.of(
                NAME, violations, facts, claims - shares, claims == 0 ? "no lease was found valid" : "nobody wrote");
    }

    /** What is wrong with a claim next to others; empty if nothing is. */
    private static String violation(Operation claim, List<Operation> held) {
        for (Operation other : held) {
            if (!areOne(other, claim) && !areTogether(other, claim)) {
                return " began while another was valid: " + other;
            }
            if (claim.slot != 0 && claim.slot == other.slot) {
                return " has the slot of " + other;
            }
        }
        if (claim.demand instanceof Demand.Permits asked) {
            int beside = permits(held);
            if (beside + asked.permits() > asked.limit()) {
                return " began while " + beside + " permits were held: " + held;
            }
        }
        return "";
    }

    /** A thread that unlocks to write and goes on to read. */
    private static boolean areOne(Operation written, Operation read) {
        return read.demand instanceof Demand.Shared
                && read.process.equals(written.process)
                && read.thread == written.thread
                && read.token == written.token;
    }

    private static boolean areTogether(Operation one, Operation two) {
        return one.demand.kind() == two.demand.kind() && !(one.demand instanceof Demand.Exclusive);
    }

    private static int permits(List<Operation> held) {
        int sum = 0;
        for (Operation operation : held) {
            sum += operation.demand instanceof Demand.Permits permits ? permits.permits() : 0;
        }
        return sum;
    }
}
