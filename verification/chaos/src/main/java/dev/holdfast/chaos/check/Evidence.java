package dev.holdfast.chaos.check;

import dev.holdfast.chaos.fault.FaultKind;
import dev.holdfast.chaos.fault.Injection;
import dev.holdfast.chaos.history.History;
import dev.holdfast.chaos.history.Interval;
import dev.holdfast.chaos.history.Operation;
import dev.holdfast.chaos.register.Register;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * What happened in a run.
 *
 * @param history what the clients wrote
 * @param injections the faults, as they were done
 * @param pace how quick the controller and the store were
 * @param accesses what the register saw, a lock's number
 * @param leaseMillis the lease
 * @param stoppedNanos when the clients were asked to stop, since the run's origin
 * @param lengthNanos when the run was over
 * @param leftBehind what was still on the server after all clients had closed
 */
public record Evidence(
        History history,
        List<Injection> injections,
        Pace pace,
        Map<Integer, List<Register.Access>> accesses,
        long leaseMillis,
        long stoppedNanos,
        long lengthNanos,
        List<String> leftBehind) {
    /** A master that was paused takes writes until it learns of its successor. */
    private static final long FAILOVER_NANOS = 15_000_000_000L;

    /** A new process on a busy machine is slow. */
    static final long WARM_UP_NANOS = 5_000_000_000L;

    /**
     * When nothing may be expected of the locks: while processes start, during faults, and for as long after them as clients and servers may need
     * to find each other again; and how slow the machine, a process or the store was.
     *
     * @param exceptKills true to leave out the deaths and starts of clients
     * @return the times
     */
    QuietPeriods calm(boolean exceptKills) {
        List<Interval> stalls = new ArrayList<>();
        history.hiccups().values().forEach(stalls::addAll);
        List<Interval> faults = new ArrayList<>();
        long lease = leaseMillis * 1_000_000;
        for (Injection injection : injections) {
            boolean kill = injection.fault().kind() == FaultKind.CLIENT_KILL;
            // The locks of a dead client are free when their leases have ended.
            // Most of the time of what is late and cut off, only its holders are at work for long.
            long disturbed =
                    injection.fault().kind() == FaultKind.NET_LATE_CUT ? lease : injection.end() - injection.start();
            long recovery = lease + (kill ? lease : disturbed);
            if (!kill || !exceptKills) {
                faults.add(new Interval(
                        injection.fault().kind() + " " + injection.target(),
                        injection.start(),
                        injection.end() + recovery + 2_000_000_000L));
            }
        }
        if (!exceptKills) {
            history.starts().values().forEach(start -> faults.add(new Interval("start", start, start + WARM_UP_NANOS)));
        }
        return new QuietPeriods(faults, stalls, pace);
    }

    /**
     * Tells whether nothing but deaths and starts of clients disturbs at an instant.
     *
     * @param nanos since the run's origin
     * @return false during other faults and the recovery from them
     */
    public boolean isCalm(long nanos) {
        return calm(true).throughout(nanos, nanos);
    }

    /** Whether its process had worked for a while when it asked: what comes first loads classes and connects. */
    boolean isWarm(Operation operation) {
        return operation.invoked - history.starts().getOrDefault(operation.process, Long.MIN_VALUE / 2)
                >= WARM_UP_NANOS;
    }

    /**
     * Returns until when a client waited: until the answer, or until the process was killed.
     *
     * @param operation who asked
     * @return the instant, or {@link Long#MAX_VALUE} if neither came
     */
    long endOfWait(Operation operation) {
        long death = injections.stream()
                .filter(injection -> injection.fault().kind() == FaultKind.CLIENT_KILL
                        && injection.client() == operation.process.client())
                .mapToLong(Injection::end)
                .filter(dead -> dead >= operation.invoked)
                .min()
                .orElse(Long.MAX_VALUE);
        return Math.min(death, operation.answered());
    }

    /**
     * What is left of the evidence without the times in which a server was stopped or killed, and a failover might follow.
     *
     * @return the same, without the acquisitions that were held at such a time
     */
    public Evidence withoutFailovers() {
        List<Interval> failovers = injections.stream()
                .filter(injection -> injection.fault().kind().where() == FaultKind.Where.SERVER)
                .map(injection -> new Interval(
                        "failover", injection.start(), injection.end() + FAILOVER_NANOS + leaseMillis * 1_000_000))
                .toList();
        List<Operation> steady = history.operations().stream()
                .filter(operation -> operation.acquired != Operation.NEVER)
                .filter(operation -> failovers.stream()
                        .noneMatch(failover -> failover.overlaps(
                                operation.acquired, Math.max(operation.acquired, operation.confirmed))))
                .toList();
        return new Evidence(
                new History(steady, history.starts(), history.hiccups(), history.suspects(), history.ends()),
                injections,
                pace,
                accesses,
                leaseMillis,
                stoppedNanos,
                lengthNanos,
                leftBehind);
    }

    /**
     * Evidence of operations alone, for checks that look at nothing else.
     *
     * @param operations what was done
     * @return without faults
     */
    public static Evidence of(List<Operation> operations) {
        return new Evidence(
                new History(operations, Map.of(), Map.of(), List.of(), Map.of()),
                List.of(),
                Pace.EVEN,
                Map.of(),
                2_000,
                0,
                Long.MAX_VALUE,
                List.of());
    }
}
