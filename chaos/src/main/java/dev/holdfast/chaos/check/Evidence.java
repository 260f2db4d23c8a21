package dev.holdfast.chaos.check;

import dev.holdfast.chaos.Register;
import dev.holdfast.chaos.fault.FaultKind;
import dev.holdfast.chaos.fault.Injection;
import dev.holdfast.chaos.history.History;
import dev.holdfast.chaos.history.Interval;
import dev.holdfast.chaos.history.Operation;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * What happened in a run.
 *
 * @param history what the clients wrote
 * @param injections the faults, as they were done
 * @param hiccups when the controller stood still, because the machine did
 * @param accesses what the register saw, a lock's number
 * @param leaseMillis the lease
 * @param lengthNanos when the run was over, since its origin
 * @param leftovers what was still on the server after all clients had closed
 */
public record Evidence(
        History history,
        List<Injection> injections,
        List<Interval> hiccups,
        Map<Integer, List<Register.Access>> accesses,
        long leaseMillis,
        long lengthNanos,
        List<String> leftovers) {

    /**
     * When nothing may be expected of the locks: during faults, and for as long after them as clients and servers may need
     * to find each other again; and when the machine or a process stood still.
     *
     * @param exceptKills true to leave out the deaths of clients
     * @return the times
     */
    Calm calm(boolean exceptKills) {
        List<Interval> stalls = new ArrayList<>(hiccups);
        history.hiccups().values().forEach(stalls::addAll);
        List<Interval> faults = new ArrayList<>();
        long lease = leaseMillis * 1_000_000;
        for (Injection injection : injections) {
            boolean kill = injection.fault().kind() == FaultKind.CLIENT_KILL;
            // The locks of a dead client are free when their leases have ended.
            long recovery = kill ? 2 * lease : lease + injection.end() - injection.start();
            if (!kill || !exceptKills) {
                faults.add(new Interval(
                        injection.fault().kind() + " " + injection.target(),
                        injection.start(),
                        injection.end() + recovery + 2_000_000_000L));
            }
        }
        return new Calm(faults, stalls);
    }

    /**
     * Evidence of operations alone, for checks that look at nothing else.
     *
     * @param operations what was done
     * @return without faults
     */
    public static Evidence of(List<Operation> operations) {
        return new Evidence(
                new History(operations, Map.of(), List.of(), Map.of()),
                List.of(),
                List.of(),
                Map.of(),
                2_000,
                Long.MAX_VALUE,
                List.of());
    }
}
