package dev.holdfast.chaos.check;

import static dev.holdfast.chaos.check.Claims.MILLI;
import static dev.holdfast.chaos.check.Claims.call;
import static dev.holdfast.chaos.check.Claims.claim;
import static dev.holdfast.chaos.check.Claims.evidence;
import static dev.holdfast.chaos.check.Claims.fault;
import static dev.holdfast.chaos.check.Claims.released;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.chaos.fault.FaultKind;
import dev.holdfast.chaos.fault.Injection;
import dev.holdfast.chaos.history.History;
import dev.holdfast.chaos.history.Interval;
import dev.holdfast.chaos.history.OpKind;
import dev.holdfast.chaos.history.Operation;
import dev.holdfast.chaos.history.Outcome;
import dev.holdfast.chaos.history.Part;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** A limit grows by what machine and store took in the same time, and by no more; what is too slow for a limit is no case. */
final class PaceTest {
    private static final Pace EVEN =
            new Pace(List.of(), List.of(write(0, 5), write(12_000, 12_005), write(20_000, 20_005)));

    private static Interval write(long start, long end) {
        return new Interval("raw write", start * MILLI, end * MILLI);
    }

    private static Pace slow(long start, long end) {
        return new Pace(List.of(), List.of(write(start, end)));
    }

    private static Result judge(Check check, Pace pace, List<Injection> injections, Operation... operations) {
        History history = new History(List.of(operations), Map.of(), Map.of(), List.of(), Map.of());
        return check.check(evidence(history, injections, pace));
    }

    private static Operation refused(long invoked, long failed) {
        Operation operation = call(0, OpKind.TIMED, invoked);
        operation.failed = failed * MILLI;
        operation.failure = Outcome.UNAVAILABLE;
        return operation;
    }

    @Test
    void slack_isWhatStoodStill_andFourWritesOfTheSlowest() {
        Pace pace =
                new Pace(List.of(write(1_000, 1_100)), List.of(write(0, 10), write(1_500, 1_600), write(3_000, 3_300)));
        QuietPeriods calm = new QuietPeriods(List.of(), List.of(write(1_050, 1_200)), pace);
        assertThat(calm.slack(900 * MILLI, 1_400 * MILLI)).as("both at once").isEqualTo(200 * MILLI);
        assertThat(calm.slack(900 * MILLI, 2_000 * MILLI)).isEqualTo((200 + 4 * 100) * MILLI);
        assertThat(calm.slack(1_550 * MILLI, 1_560 * MILLI))
                .as("within a write")
                .isEqualTo(4 * 100 * MILLI);
        assertThat(calm.slack(2_900 * MILLI, 4_000 * MILLI))
                .as("a write of a quarter of a second is a stall as well")
                .isEqualTo((300 + 4 * 300) * MILLI);
        assertThat(calm.slack(2_000 * MILLI, 2_100 * MILLI)).isZero();
        assertThat(calm.smooth(1_300 * MILLI, 2_900 * MILLI)).isTrue();
        assertThat(calm.smooth(900 * MILLI, 2_000 * MILLI)).isFalse();
        assertThat(calm.smooth(2_900 * MILLI, 3_100 * MILLI)).isFalse();
    }

    @Test
    void answers() {
        assertThat(judge(new AnswerCheck(), EVEN, List.of(), refused(11_000, 11_900))
                        .violations())
                .hasSize(1);
        Result excused = judge(new AnswerCheck(), slow(11_100, 11_250), List.of(), refused(11_000, 11_900));
        assertThat(excused.violations()).isEmpty();
        assertThat(excused.isJudged()).as("too slow for that").isFalse();
        assertThat(excused.facts()).containsEntry("as slow was the store", 1L);
        assertThat(judge(new AnswerCheck(), slow(11_100, 11_250), List.of(), refused(11_000, 21_000))
                        .violations())
                .as("ten seconds are enough for a store as slow as that")
                .hasSize(1);
    }

    @Test
    void wakeUp() {
        Operation held = released(claim(0, OpKind.LOCK, 1, 0, 100, 1_000), 1_001);
        Operation late = released(claim(1, OpKind.LOCK, 2, 500, 3_400, 3_500), 3_501);
        assertThat(judge(new WakeUpCheck(), EVEN, List.of(), held, late).violations())
                .hasSize(1);
        assertThat(judge(new WakeUpCheck(), slow(2_000, 2_110), List.of(), held, late)
                        .violations())
                .isEmpty();
        Result halting = judge(new WakeUpCheck(), slow(2_000, 2_600), List.of(), held, late);
        assertThat(halting.violations()).isEmpty();
        assertThat(halting.isJudged()).as("far too slow").isFalse();
    }

    @Test
    void takeOver() {
        Operation held = claim(0, OpKind.LOCK, 1, 0, 100, 1_000);
        Operation next = claim(1, OpKind.LOCK, 2, 500, 8_300, 8_400);
        List<Injection> kill = List.of(fault(FaultKind.CLIENT_KILL, 0, 1_001, 1_010));
        assertThat(judge(new TakeOverCheck(), EVEN, kill, held, next).violations())
                .hasSize(1);
        assertThat(judge(new TakeOverCheck(), slow(5_000, 5_100), kill, held, next)
                        .violations())
                .isEmpty();
    }

    @Test
    void electedAgain() {
        Operation resigned = released(claim(0, OpKind.LOCK, 1, 0, 10_000, 19_900), 20_000);
        Operation late = claim(1, OpKind.LOCK, 2, 15_000, 23_300, 25_000);
        assertThat(judge(new ElectedAgainCheck(), EVEN, List.of(), resigned, late)
                        .violations())
                .hasSize(1);
        assertThat(judge(new ElectedAgainCheck(), slow(21_000, 21_100), List.of(), resigned, late)
                        .violations())
                .isEmpty();
    }

    @Test
    void order() {
        Operation[] calls = {
            call(0, OpKind.LOCK, 0),
            call(1, OpKind.LOCK, 0),
            claim(0, OpKind.FIFO, 2, 11_000, 15_000, 15_100),
            claim(1, OpKind.FIFO, 1, 12_100, 13_000, 13_100)
        };
        assertThat(judge(new FifoCheck(true), EVEN, List.of(), calls).violations())
                .hasSize(1);
        assertThat(judge(new FifoCheck(true), slow(11_000, 11_030), List.of(), calls)
                        .violations())
                .isEmpty();
    }

    @Test
    void losses() {
        Operation untold = released(claim(1, 0, 1, 5), 560);
        untold.invalid = 10 * MILLI;
        assertThat(judge(new LossCheck(), EVEN, List.of(), untold).violations()).hasSize(1);
        assertThat(judge(new LossCheck(), slow(100, 200), List.of(), untold).violations())
                .isEmpty();
    }

    @Test
    void deadlines() {
        Operation late = call(0, OpKind.TIMED, 1_000);
        late.part = new Part(1, 500);
        late.failed = 2_600 * MILLI;
        late.failure = Outcome.BUSY;
        assertThat(judge(new ProgressCheck(), EVEN, List.of(), late).violations())
                .hasSize(1);
        assertThat(judge(new ProgressCheck(), slow(1_100, 1_130), List.of(), late)
                        .violations())
                .isEmpty();
    }

    /** A release that was not answered takes the lease's time. */
    @Test
    void half() {
        Operation late = call(0, OpKind.TIMED, 1_000);
        late.failed = 1_100 * MILLI;
        late.failure = Outcome.BUSY;
        late.probed = 3_300 * MILLI;
        assertThat(judge(new AllOrNothingCheck(), EVEN, List.of(), late).violations())
                .hasSize(1);
        assertThat(judge(new AllOrNothingCheck(), slow(1_100, 1_230), List.of(), late)
                        .violations())
                .isEmpty();
        late.leftHalf = true;
        assertThat(judge(new AllOrNothingCheck(), slow(1_100, 1_230), List.of(), late)
                        .violations())
                .hasSize(1);
    }

    @Test
    void starvation() {
        Operation writer = claim(0, OpKind.LOCK, 2, 6_000, 17_000, 17_100);
        Operation reader = released(claim(1, OpKind.LOCK, 9, 14_900, 15_000, 15_500), 15_501);
        reader.demand = dev.holdfast.lock.Demand.SHARED;
        assertThat(judge(new StarvationCheck(), EVEN, List.of(), writer, reader).violations())
                .hasSize(1);
        assertThat(judge(new StarvationCheck(), slow(12_000, 12_200), List.of(), writer, reader)
                        .violations())
                .hasSize(1);
        Pace stalled = new Pace(List.of(write(8_000, 9_100)), List.of());
        assertThat(judge(new StarvationCheck(), stalled, List.of(), writer, reader)
                        .violations())
                .isEmpty();
    }

    @Test
    void isSaidToPeople() {
        Pace pace = new Pace(
                List.of(write(0, 1_500)),
                Stream.concat(
                                Stream.of(write(0, 900)),
                                Stream.generate(() -> write(0, 3)).limit(299))
                        .toList());
        assertThat(pace)
                .hasToString(
                        "the controller stood still for 1.5 s; of 300 raw writes to the store, half took up to 3 ms,"
                                + " 99 of 100 up to 3 ms, one 900 ms");
        assertThat(Pace.EVEN).hasToString("the controller stood still for 0.0 s");
    }
}
