package dev.holdfast.chaos.check;

import static dev.holdfast.chaos.check.Claims.MILLI;
import static dev.holdfast.chaos.check.Claims.call;
import static dev.holdfast.chaos.check.Claims.claim;
import static dev.holdfast.chaos.check.Claims.evidence;
import static dev.holdfast.chaos.check.Claims.fault;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.chaos.fault.FaultKind;
import dev.holdfast.chaos.history.History;
import dev.holdfast.chaos.history.OpKind;
import dev.holdfast.chaos.history.Operation;
import dev.holdfast.chaos.history.Outcome;
import dev.holdfast.chaos.history.Part;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Each check of several locks passes what is right and finds what is wrong. */
final class SeveralLocksChecksTest {

    private static Operation failed(long invoked, long failed, Outcome outcome, int patienceMillis) {
        Operation operation = call(0, OpKind.TIMED, invoked);
        operation.failed = failed * MILLI;
        operation.failure = outcome;
        operation.part = new Part(1, patienceMillis);
        return operation;
    }

    private static Operation probed(Operation operation, long at, boolean leftHalf) {
        operation.probed = at * MILLI;
        operation.leftHalf = leftHalf;
        return operation;
    }

    private static Result half(Operation operation) {
        return new AllOrNothingCheck().check(evidence(List.of(operation), List.of(), List.of()));
    }

    private static List<String> late(Operation... operations) {
        History history = new History(
                List.of(operations), Map.of(), Map.of(), List.of(), Map.of(new Operation.Process(0, 0), 0L));
        return new ProgressCheck()
                .check(evidence(history, List.of(), List.of()))
                .violations();
    }

    @Test
    void half_isFound() {
        assertThat(half(probed(failed(0, 100, Outcome.BUSY, 100), 105, false)).violations())
                .isEmpty();
        assertThat(half(probed(failed(0, 100, Outcome.BUSY, 100), 105, true)).violations())
                .hasSize(1);
        assertThat(half(probed(failed(0, 100, Outcome.CANCELLED, 100), 105, true))
                        .violations())
                .as("interrupted")
                .hasSize(1);
        assertThat(half(failed(0, 100, Outcome.BUSY, 100)).isJudged())
                .as("nobody looked")
                .isFalse();
    }

    /** What a release that was sent in time would have freed at once. */
    @Test
    void half_forAWhile() {
        assertThat(half(probed(failed(0, 100, Outcome.BUSY, 100), 1_050, false)).violations())
                .isEmpty();
        assertThat(half(probed(failed(0, 100, Outcome.BUSY, 100), 1_200, false)).violations())
                .hasSize(1);
    }

    @Test
    void half_duringAFault_isLeftOut() {
        Operation left = probed(failed(10_000, 10_100, Outcome.UNAVAILABLE, 100), 10_105, true);
        Result result = new AllOrNothingCheck()
                .check(evidence(List.of(left), List.of(fault(FaultKind.NET_CUT, 0, 9_000, 9_500)), List.of()));
        assertThat(result.violations()).isEmpty();
        assertThat(result.isJudged()).isFalse();
    }

    @Test
    void deadlines() {
        assertThat(late(failed(0, 1_900, Outcome.BUSY, 1_000))).isEmpty();
        assertThat(late(failed(0, 2_100, Outcome.BUSY, 1_000))).hasSize(1);
        Operation acquired = claim(1, 0, 2_100, 2_200);
        acquired.part = new Part(1, 1_000);
        assertThat(late(acquired)).as("acquired, but too late").hasSize(1);
        Operation disturbed = failed(10_000, 15_000, Outcome.UNAVAILABLE, 1_000);
        assertThat(new ProgressCheck()
                        .check(evidence(
                                List.of(disturbed), List.of(fault(FaultKind.NET_CUT, 0, 11_000, 12_000)), List.of()))
                        .violations())
                .isEmpty();
    }

    @Test
    void circles_areEndedByTheCloseOfTheClient() {
        assertThat(late(failed(0, 100_000, Outcome.CLOSED, -1))).hasSize(1);
        Operation waits = call(0, OpKind.LOCK, 0);
        waits.part = new Part(1, -1);
        assertThat(late(waits)).as("not even by that").hasSize(1);
        Operation other = claim(1, 0, 50_000, 97_000);
        other.part = new Part(2, -1);
        other.released = 97_000 * MILLI;
        assertThat(late(failed(0, 100_000, Outcome.CLOSED, -1), other))
                .as("others still got theirs")
                .isEmpty();
        Operation served = claim(1, 0, 50_000, 50_100);
        served.part = new Part(1, -1);
        assertThat(late(served)).isEmpty();
        Operation dead = call(1, OpKind.LOCK, 0);
        dead.part = new Part(1, -1);
        assertThat(late(dead)).as("of a process that was killed").isEmpty();
    }

    @Test
    void part_isWrittenAsANumber() {
        for (Part part : List.of(new Part(7, 250), new Part(Integer.MAX_VALUE, -1), new Part(1, 0))) {
            assertThat(Part.of(part.value())).isEqualTo(part);
        }
    }
}
