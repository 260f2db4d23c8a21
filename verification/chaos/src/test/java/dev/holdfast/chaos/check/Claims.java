package dev.holdfast.chaos.check;

import dev.holdfast.chaos.fault.Fault;
import dev.holdfast.chaos.fault.FaultKind;
import dev.holdfast.chaos.fault.Injection;
import dev.holdfast.chaos.history.History;
import dev.holdfast.chaos.history.Interval;
import dev.holdfast.chaos.history.OpKind;
import dev.holdfast.chaos.history.Operation;
import dev.holdfast.chaos.history.Outcome;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Makes small histories; times in milliseconds. */
public final class Claims {
    static final long MILLI = 1_000_000;

    private Claims() {}

    public static Operation claim(long token, long invoked, long acquired, long confirmed) {
        return claim(0, OpKind.TIMED, token, invoked, acquired, confirmed);
    }

    public static Operation claim(int client, OpKind kind, long token, long invoked, long acquired, long confirmed) {
        Operation operation = call(client, kind, invoked);
        operation.token = token;
        operation.acquired = acquired * MILLI;
        operation.confirmed = confirmed * MILLI;
        return operation;
    }

    public static Operation call(int client, OpKind kind, long invoked) {
        return new Operation(new Operation.Process(client, 0), 0, 1, kind, invoked * MILLI);
    }

    public static Operation released(Operation operation, long at) {
        operation.release = at * MILLI;
        operation.released = at * MILLI;
        operation.releaseOutcome = Outcome.OK;
        return operation;
    }

    public static Injection fault(FaultKind kind, int client, long start, long end) {
        return new Injection(
                new Fault(kind, 0, end - start, client, Optional.empty(), 0),
                "client " + client,
                client,
                start * MILLI,
                end * MILLI);
    }

    public static Evidence evidence(List<Operation> operations, List<Injection> injections, List<Interval> hiccups) {
        return evidence(new History(operations, Map.of(), Map.of(), List.of(), Map.of()), injections, hiccups);
    }

    public static Evidence evidence(History history, List<Injection> injections, List<Interval> hiccups) {
        return evidence(history, injections, new Pace(hiccups, List.of()));
    }

    public static Evidence evidence(History history, List<Injection> injections, Pace pace) {
        return new Evidence(history, injections, pace, Map.of(), 2_000, 100_000 * MILLI, 100_000 * MILLI, List.of());
    }
}
