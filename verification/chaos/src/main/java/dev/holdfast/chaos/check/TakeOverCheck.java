package dev.holdfast.chaos.check;

import dev.holdfast.chaos.fault.FaultKind;
import dev.holdfast.chaos.fault.Injection;
import dev.holdfast.chaos.history.Operation;
import dev.holdfast.lock.Demand;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * C5: after the holder was killed, a waiter gets the lock about a lease later; after a reader was killed, a client
 * that waits to write, as soon as the others have read; after a holder of permits, a client that needs them. Only where nothing else disturbs.
 * The bound is generous, and more so by as much as the machine was paused and the store was slow; the percentiles are what counts.
 */
public final class TakeOverCheck implements Check {
    /** The name. */
    public static final String NAME = "C5 take-over";

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Optional<FaultKind> provokedBy() {
        return Optional.of(FaultKind.CLIENT_KILL);
    }

    @Override
    public Result check(Evidence evidence) {
        List<String> violations = new ArrayList<>();
        List<Long> millis = new ArrayList<>();
        long kills = 0;
        long holds = 0;
        QuietPeriods calm = evidence.calm(true);
        Map<Integer, List<Operation>> byName = evidence.history().byName();
        Map<Integer, List<Granted>> grants = new HashMap<>();
        byName.forEach((name, ofName) -> grants.put(name, Granted.of(ofName)));
        long boundNanos = 2 * evidence.leaseMillis() * 1_000_000 + 3_000_000_000L;
        for (Injection kill : evidence.injections()) {
            if (kill.fault().kind() != FaultKind.CLIENT_KILL) {
                continue;
            }
            kills++;
            for (Map.Entry<Integer, List<Granted>> entry : grants.entrySet()) {
                for (Granted held : entry.getValue()) {
                    if (held.all().stream().noneMatch(operation -> heldAtDeath(operation, kill))) {
                        continue;
                    }
                    holds++;
                    List<Operation> ofName = byName.getOrDefault(entry.getKey(), List.of());
                    long next = next(entry.getValue(), held, kill);
                    long bound = boundNanos + calm.slack(kill.end(), kill.end() + boundNanos);
                    long until = Math.min(Math.min(next, kill.end() + bound + 1), evidence.lengthNanos());
                    if (!waited(ofName, held, kill.end(), until) || !calm.throughout(kill.start(), until)) {
                        continue;
                    }
                    long from = Math.max(
                            kill.end(),
                            freeOfOthers(ofName, entry.getValue(), held, kill, until, evidence.leaseMillis()));
                    if (until - from > bound) {
                        violations.add("nobody took over " + bound / 1_000_000 + " ms after the death of " + held);
                    } else if (next == until) {
                        millis.add((next - from) / 1_000_000);
                    }
                }
            }
        }
        return Result.of(
                NAME,
                violations,
                percentiles(millis),
                millis.size(),
                kills + " clients were killed with " + holds
                        + " locks, none of which somebody waited for while nothing else disturbed");
    }

    private static boolean heldAtDeath(Operation held, Injection kill) {
        return held.process.client() == kill.client()
                && held.claims()
                && held.acquired < kill.end()
                && held.release == Operation.NEVER
                && held.lost == Operation.NEVER
                && kill.start() - held.confirmed < 500_000_000L;
    }

    /** The first grant that needs the room of the dead. */
    private static long next(List<Granted> ofName, Granted held, Injection kill) {
        return ofName.stream()
                .filter(grant -> grant != held && grant.acquired() > kill.end())
                .filter(grant -> needs(grant, held, ofName))
                .mapToLong(Granted::acquired)
                .min()
                .orElse(Long.MAX_VALUE);
    }

    private static boolean needs(Granted grant, Granted held, List<Granted> ofName) {
        if (grant.demand() instanceof Demand.Permits asked && held.demand() instanceof Demand.Permits dead) {
            int others = 0;
            for (Granted other : ofName) {
                boolean beside = other != grant
                        && other.claims()
                        && other.acquired() < grant.acquired()
                        && other.confirmed() > grant.acquired();
                others += beside && other.demand() instanceof Demand.Permits permits ? permits.permits() : 0;
            }
            return others + dead.permits() + asked.permits() > asked.limit();
        }
        return !held.demand().leavesRoomFor(grant.demand());
    }

    private static boolean waited(List<Operation> ofName, Granted held, long from, long until) {
        return ofName.stream()
                .anyMatch(operation -> operation.kind.waits()
                        && operation.invoked <= from
                        && operation.answered() >= until
                        && (held.demand() instanceof Demand.Permits
                                || !held.demand().leavesRoomFor(operation.demand)));
    }

    /** From when on those who live would have left room for all who waited. */
    private static long freeOfOthers(
            List<Operation> ofName, List<Granted> grants, Granted held, Injection kill, long until, long leaseMillis) {
        if (held.isAlone()) {
            return Long.MIN_VALUE;
        }
        Demand waiting = ofName.stream()
                .filter(operation -> operation.kind.waits() && operation.invoked < until)
                .filter(operation -> operation.answered() > kill.end())
                .map(operation -> operation.demand)
                .reduce(Capacity::larger)
                .orElse(Demand.EXCLUSIVE);
        Capacity room = new Capacity();
        for (Granted other : grants) {
            if (other != held
                    && other.acquired() < until
                    && other.first().process.client() != kill.client()) {
                room.take(other.demand(), Math.min(until, other.freedBy(leaseMillis)));
            }
        }
        return room.freeFor(waiting);
    }

    private static Map<String, Object> percentiles(List<Long> millis) {
        List<Long> sorted = millis.stream().sorted().toList();
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("take-overs", (long) sorted.size());
        if (!sorted.isEmpty()) {
            facts.put("p50 ms", sorted.get(sorted.size() / 2));
            facts.put("p90 ms", sorted.get(sorted.size() * 9 / 10));
            facts.put("max ms", sorted.get(sorted.size() - 1));
        }
        return facts;
    }
}
