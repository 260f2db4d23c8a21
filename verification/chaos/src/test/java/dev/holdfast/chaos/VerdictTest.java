package dev.holdfast.chaos;

import static dev.holdfast.chaos.check.Claims.claim;
import static dev.holdfast.chaos.check.Claims.evidence;
import static dev.holdfast.chaos.check.Claims.fault;
import static dev.holdfast.chaos.check.Claims.released;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.chaos.fault.FaultKind;
import dev.holdfast.chaos.fault.Injection;
import dev.holdfast.chaos.history.Operation;
import dev.holdfast.chaos.history.Outcome;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What counts as a trace of a fault. */
final class VerdictTest {
    private static final Injection BLACK_HOLE = fault(FaultKind.NET_BLACK_HOLE, 0, 5_000, 7_000);

    private static boolean noticed(Operation operation) {
        return Verdict.leftTrace(BLACK_HOLE, evidence(List.of(operation), List.of(BLACK_HOLE), List.of()));
    }

    private static Operation ended(long at, Outcome outcome) {
        Operation operation = released(claim(1, 4_000, 4_100, at), at);
        operation.releaseOutcome = outcome;
        return operation;
    }

    @Test
    void leaderThatHadToStop_leavesATrace_alsoWithinALeaseAfterTheFault() {
        assertThat(noticed(ended(6_500, Outcome.LOST))).isTrue();
        assertThat(noticed(ended(8_900, Outcome.LOST))).isTrue();
        assertThat(noticed(ended(6_500, Outcome.UNAVAILABLE))).isTrue();
    }

    @Test
    void holderThatWentInOrder_orAtAnotherTime_leavesNone() {
        assertThat(noticed(ended(6_500, Outcome.OK))).isFalse();
        assertThat(noticed(ended(4_900, Outcome.LOST))).isFalse();
        assertThat(noticed(ended(9_100, Outcome.LOST))).isFalse();
    }
}
