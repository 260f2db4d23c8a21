package dev.holdfast.chaos.check;

import dev.holdfast.chaos.history.Operation;
import dev.holdfast.chaos.history.Outcome;
import dev.holdfast.lock.Demand;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;

/**
 * C6: while a client waits, a released lock is not left free for longer than two undisturbed seconds, neither until the next
 * grant nor, if there is none, until the clients are asked to stop. On a slow store, as much longer as an operation's writes take. Where others may share it, it is free when there is room for
 * every waiter, as the first in line is unknown.
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
        QuietPeriods calm = evidence.calm(false);
        long longest = 0;
        long cases = 0;
        for (List<Operation> ofName : evidence.history().byName().values()) {
            List<Granted> granted = Granted.of(ofName).stream()
                    .sorted(Comparator.comparingLong(Granted::acquired))
                    .toList();
            Line line = new Line(ofName, evidence);
            List<Operation> doubtful = ofName.stream()
                    .filter(operation -> operation.failure == Outcome.UNAVAILABLE || operation.failure == Outcome.LOST)
                    .sorted(Comparator.comparingLong(operation -> operation.failed))
                    .toList();
            int doubts = 0;
            Capacity room = new Capacity();
            for (int i = 0; i < granted.size(); i++) {
                Granted grant = granted.get(i);
                room.forget(grant.acquired());
                room.take(grant.demand(), grant.freedBy(evidence.leaseMillis()));
                boolean last = i + 1 == granted.size();
                long next = last ? evidence.stoppedNanos() : granted.get(i + 1).acquired();
                while (doubts < doubtful.size() && doubtful.get(doubts).failed < next) {
                    Operation doubt = doubtful.get(doubts++);
                    room.take(doubt.demand, Granted.forgotten(doubt.failed, evidence.leaseMillis()));
                }
                long free = Math.max(grant.acquired(), room.freeFor(line.largest(grant.acquired(), next)));
                long waited = 0;
                for (Operation waiter : line.patient()) {
                    if (evidence.endOfWait(waiter) >= next && waiter.invoked < next) {
                        waited = Math.max(waited, calm.longest(Math.max(free, waiter.invoked), next));
                    }
                }
                long slowness = calm.slowness(free, next);
                cases += waited > 0 && slowness <= BOUND_NANOS ? 1 : 0;
                longest = Math.max(longest, waited);
                if (waited > BOUND_NANOS + slowness) {
                    violations.add("free for " + waited / 1_000_000 + " undisturbed ms while somebody waited, "
                            + (last ? "from then to the stop: " + grant : "until " + granted.get(i + 1)));
                }
            }
        }
        return Result.of(
                NAME,
                violations,
                Map.of("longest ms", longest / 1_000_000, "undisturbed", cases),
                cases,
                "no lock became free while somebody waited, nothing disturbed, and the store was quick enough");
    }

    /** Who waited for one name. */
    private static final class Line {
        private final Evidence evidence;
        private final List<Operation> waits;
        private final List<Operation> patient;
        private final Demand demand;
        private final boolean alike;
        private final List<Operation> present = new ArrayList<>();
        private int begun;

        Line(List<Operation> ofName, Evidence evidence) {
            this.evidence = evidence;
            this.waits = ofName.stream()
                    .filter(operation -> operation.kind.waits())
                    .sorted(Comparator.comparingLong(operation -> operation.invoked))
                    .toList();
            this.patient = waits.stream()
                    .filter(operation -> operation.answered() - operation.invoked > BOUND_NANOS / 4)
                    .toList();
            this.demand = waits.stream()
                    .map(waiter -> waiter.demand)
                    .reduce(Capacity::larger)
                    .orElse(Demand.EXCLUSIVE);
            this.alike = waits.stream().allMatch(waiter -> waiter.demand.equals(demand));
        }

        /** Those who waited for long enough to be missed. */
        List<Operation> patient() {
            return patient;
        }

        /**
         * What the one needs who needs the most room of all waiters; the first in line needs no more. The
         * times have to come in their order.
         */
        Demand largest(long from, long to) {
            if (alike) {
                return demand;
            }
            present.removeIf(waiter -> evidence.endOfWait(waiter) < from);
            while (begun < waits.size() && waits.get(begun).invoked < to) {
                present.add(waits.get(begun++));
            }
            return present.stream()
                    .map(waiter -> waiter.demand)
                    .reduce(Capacity::larger)
                    .orElse(demand);
        }
    }
}
