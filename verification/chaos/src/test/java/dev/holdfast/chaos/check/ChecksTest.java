package dev.holdfast.chaos.check;

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
import dev.holdfast.chaos.history.Workload;
import dev.holdfast.chaos.register.Register;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Each check passes what is right and finds what is wrong. */
final class ChecksTest {

    @Test
    void overlap() {
        assertThat(found(new OverlapCheck(), claim(1, 0, 1, 5), claim(2, 0, 6, 9)))
                .isEmpty();
        assertThat(found(new OverlapCheck(), claim(1, 0, 1, 7), claim(2, 0, 6, 9)))
                .hasSize(1);
        // A long claim around two short ones.
        assertThat(found(new OverlapCheck(), claim(1, 0, 1, 20), claim(2, 0, 6, 7), claim(3, 0, 8, 9)))
                .hasSize(2);
    }

    @Test
    void overlap_whereAHolderNoticesItsSessionsEndLate() {
        Check check = new OverlapCheck();
        assertThat(check.check(ofSessions(claim(1, 0, 1, 1_000), 1_100, claim(2, 0, 501, 900)))
                        .violations())
                .as("the loss was seen 599 ms after the next claim")
                .isEmpty();
        assertThat(check.check(ofSessions(claim(1, 0, 1, 1_000), 1_100, claim(2, 0, 499, 900)))
                        .violations())
                .as("601 ms after it")
                .hasSize(1);
        assertThat(check.check(ofSessions(released(claim(1, 0, 1, 1_000), 1_100), -1, claim(2, 0, 900, 950)))
                        .violations())
                .as("the holder saw no loss")
                .hasSize(1);
    }

    /** A session lock, after the server alone has seen the end of the first holder's connection. */
    @Test
    void overlap_isNone_afterAnEndThatTheClientCouldNotSee() {
        Check check = new OverlapCheck();
        assertThat(check.check(endedUnseen(true, 500, claim(1, 0, 1, 1_000), claim(2, 0, 501, 900)))
                        .violations())
                .isEmpty();
        assertThat(check.check(endedUnseen(true, 500, claim(1, 0, 1, 1_000), claim(2, 0, 499, 900)))
                        .violations())
                .as("it began before")
                .hasSize(1);
        assertThat(check.check(endedUnseen(false, 500, claim(1, 0, 1, 1_000), claim(2, 0, 501, 900)))
                        .violations())
                .as("another client's connection")
                .hasSize(1);
        assertThat(check.check(endedUnseen(true, 500, claim(1, 0, 501, 1_000), claim(2, 0, 600, 900)))
                        .violations())
                .as("a session that began after it")
                .hasSize(1);
    }

    private static Evidence endedUnseen(boolean ofFirst, long atMillis, Operation first, Operation next) {
        History history = new History(List.of(first, next), Map.of(), Map.of(), List.of(), Map.of());
        return evidence(history.endedUnseen(ofFirst ? 0 : 7, atMillis * Claims.MILLI), List.of(), List.of());
    }

    private static Evidence ofSessions(Operation ended, long lostMillis, Operation next) {
        if (lostMillis >= 0) {
            ended.lost = lostMillis * Claims.MILLI;
        }
        History history = new History(List.of(ended, next), Map.of(), Map.of(), List.of(), Map.of());
        return evidence(history.noticedLate(600 * Claims.MILLI), List.of(), List.of());
    }

    @Test
    void losses_haveACause() {
        Operation lost = claim(1, 0, 30_000, 35_000);
        lost.lost = 35_100 * Claims.MILLI;
        Check check = new UnexplainedLossCheck();
        assertThat(check.check(evidence(List.of(lost), List.of(), List.of())).violations())
                .hasSize(1);
        assertThat(check.check(evidence(List.of(lost), List.of(fault(FaultKind.NET_CUT, 0, 33_000, 34_000)), List.of()))
                        .violations())
                .as("a fault")
                .isEmpty();
        assertThat(check.check(evidence(
                                List.of(lost), List.of(fault(FaultKind.LEADER_KILL, -1, 20_000, 21_000)), List.of()))
                        .violations())
                .as("a failover")
                .isEmpty();
        Interval pause = new Interval("paused", 33_000 * Claims.MILLI, 35_000 * Claims.MILLI);
        assertThat(check.check(evidence(List.of(lost), List.of(), List.of(pause)))
                        .violations())
                .as("the machine stood still")
                .isEmpty();
        Operation ended = claim(0, OpKind.NOT_RENEWED, 1, 0, 30_000, 35_000);
        ended.lost = 35_100 * Claims.MILLI;
        assertThat(found(check, ended)).as("not renewed").isEmpty();
    }

    @Test
    void unavailability_hasACause() {
        Operation failed = call(0, OpKind.TIMED, 30_000);
        failed.failed = 31_000 * Claims.MILLI;
        failed.failure = Outcome.UNAVAILABLE;
        Check check = new UnexplainedLossCheck();
        assertThat(check.check(evidence(List.of(failed), List.of(), List.of())).violations())
                .hasSize(1);
        assertThat(check.check(evidence(
                                List.of(failed), List.of(fault(FaultKind.NET_CUT, 0, 29_000, 30_500)), List.of()))
                        .violations())
                .isEmpty();
    }

    /** A second in which a client sent that many requests, ten seconds after the start, with a release in it. */
    private static Evidence asking(long requests, List<Injection> faults, long releases) {
        List<Operation> operations = new ArrayList<>();
        for (int i = 0; i < releases; i++) {
            operations.add(released(claim(i, 1_000, 2_000, 10_500), 10_500));
        }
        Interval second = new Interval("requests", 10_000 * Claims.MILLI, 11_000 * Claims.MILLI);
        return evidence(
                new History(operations, Map.of(), Map.of(), List.of(), Map.of()),
                faults,
                new Pace(List.of(), List.of(), List.of(new Pace.Requests(0, second, requests))));
    }

    @Test
    void requests_withoutAPause_areSpinning() {
        Check check = new SpinningCheck();
        assertThat(check.check(asking(250, List.of(), 0)).violations()).isEmpty();
        assertThat(check.check(asking(251, List.of(), 0)).violations()).hasSize(1);
        assertThat(check.check(asking(600, List.of(), 100)).violations())
                .as("locks changed hands")
                .isEmpty();
        assertThat(check.check(asking(10_000, List.of(), 100)).violations())
                .as("locks changed hands, but not so often")
                .hasSize(1);
        Injection cut = fault(FaultKind.NET_CUT, 0, 8_000, 10_500);
        assertThat(check.check(asking(1_700, List.of(cut), 0)).isJudged())
                .as("judged during a fault")
                .isFalse();
    }

    @Test
    void overlap_withoutFailovers() {
        Operation held = claim(1, 0, 30_000, 31_000);
        Operation second = claim(2, 0, 30_500, 30_600);
        Evidence master =
                evidence(List.of(held, second), List.of(fault(FaultKind.LEADER_STOP, -1, 20_000, 25_000)), List.of());
        assertThat(new OverlapCheck().check(master).violations()).hasSize(1);
        assertThat(new OverlapCheck().check(master.withoutFailovers()).violations())
                .isEmpty();
        Evidence longAgo =
                evidence(List.of(held, second), List.of(fault(FaultKind.LEADER_STOP, -1, 5_000, 10_000)), List.of());
        assertThat(new OverlapCheck().check(longAgo.withoutFailovers()).violations())
                .hasSize(1);
        Evidence network =
                evidence(List.of(held, second), List.of(fault(FaultKind.NET_CUT, 0, 29_000, 30_000)), List.of());
        assertThat(new OverlapCheck().check(network.withoutFailovers()).violations())
                .hasSize(1);
    }

    @Test
    void overlap_neverFoundValid_claimsNothing() {
        Operation late = claim(1, 0, 6, 6);
        late.confirmed = Operation.NEVER;
        assertThat(found(new OverlapCheck(), late, claim(2, 0, 1, 9))).isEmpty();
    }

    @Test
    void tokens() {
        assertThat(found(new TokenCheck(), claim(1, 0, 1, 2), claim(2, 0, 3, 4)))
                .isEmpty();
        assertThat(found(new TokenCheck(), claim(2, 0, 1, 2), claim(1, 0, 3, 4)))
                .as("both were asked for at once")
                .isEmpty();
        assertThat(found(new TokenCheck(), claim(2, 0, 1, 2), claim(2, 0, 3, 4)))
                .as("the same token twice")
                .hasSize(1);
        Operation lost = claim(1, 5, 6, 6);
        lost.confirmed = Operation.NEVER;
        assertThat(found(new TokenCheck(), claim(2, 0, 1, 2), lost))
                .as("asked for later, although never found valid")
                .hasSize(1);
    }

    @Test
    void claims_laterOnesHaveHigherTokens() {
        assertThat(found(new ClaimOrderCheck(), claim(1, 0, 1, 2), claim(2, 0, 3, 4)))
                .isEmpty();
        assertThat(found(new ClaimOrderCheck(), claim(2, 0, 1, 2), claim(1, 0, 3, 4)))
                .hasSize(1);
        assertThat(found(new ClaimOrderCheck(), claim(2, 0, 1, 4), claim(1, 0, 3, 5)))
                .as("those that overlap are for S1")
                .isEmpty();
    }

    /** Two masters at once, and the answer of the first is late: what S1 lacks there, this lacks too. */
    @Test
    void claims_overAFailover() {
        Operation late = claim(1, 29_990, 30_020, 30_030);
        Operation quick = claim(2, 29_990, 30_000, 30_010);
        Evidence failover =
                evidence(List.of(late, quick), List.of(fault(FaultKind.LEADER_STOP, -1, 20_000, 25_000)), List.of());
        assertThat(new ClaimOrderCheck().check(failover).violations()).hasSize(1);
        assertThat(new ClaimOrderCheck().check(failover.withoutFailovers()).violations())
                .isEmpty();
        assertThat(Checks.exclusion(Workload.MUTEX).stream().map(Check::name)).contains(ClaimOrderCheck.NAME);
    }

    @Test
    void tokens_reentryKeepsIt() {
        Operation again = claim(7, 0, 1, 5);
        again.reentries.add(new Operation.Reentry(2, 3, 7, 4));
        assertThat(found(new TokenCheck(), again)).isEmpty();
        again.reentries.add(new Operation.Reentry(2, 3, 8, 4));
        assertThat(found(new TokenCheck(), again)).hasSize(1);
    }

    @Test
    void register() {
        assertThat(accesses(read(1, 11), write(1, 11, 0, 0), read(2, 22), write(2, 22, 1, 1)))
                .isEmpty();
        assertThat(accesses(read(2, 22), read(1, 11)))
                .as("older token accepted")
                .hasSize(1);
        assertThat(accesses(read(1, 11), write(1, 11, 0, 3))).as("lost update").hasSize(1);
        assertThat(accesses(read(1, 11), read(1, 22))).as("shared token").hasSize(1);
    }

    private static List<String> accesses(Register.Access... accesses) {
        Evidence evidence = new Evidence(
                new History(List.of(), Map.of(), Map.of(), List.of(), Map.of()),
                List.of(),
                Pace.EVEN,
                Map.of(1, List.of(accesses)),
                2_000,
                0,
                0,
                List.of());
        return new RegisterCheck().check(evidence).violations();
    }

    private static Register.Access read(long token, long holder) {
        return new Register.Access(1, token, holder, false, true, 0, 0);
    }

    private static Register.Access write(long token, long holder, long base, long before) {
        return new Register.Access(1, token, holder, true, true, base, before);
    }

    @Test
    void takeOver() {
        Operation held = claim(0, OpKind.LOCK, 1, 0, 100, 1_000);
        Operation next = claim(1, OpKind.LOCK, 2, 500, 3_000, 3_100);
        Evidence inTime =
                evidence(List.of(held, next), List.of(fault(FaultKind.CLIENT_KILL, 0, 1_001, 1_010)), List.of());
        assertThat(new TakeOverCheck().check(inTime).violations()).isEmpty();
        assertThat(new TakeOverCheck().check(inTime).facts()).containsEntry("max ms", 1_990L);

        next.acquired = 60_000 * Claims.MILLI;
        Evidence late =
                evidence(List.of(held, next), List.of(fault(FaultKind.CLIENT_KILL, 0, 1_001, 1_010)), List.of());
        assertThat(new TakeOverCheck().check(late).violations()).hasSize(1);

        Evidence disturbed = evidence(
                List.of(held, next),
                List.of(fault(FaultKind.CLIENT_KILL, 0, 1_001, 1_010), fault(FaultKind.SERVER_STOP, -1, 2_000, 4_000)),
                List.of());
        assertThat(new TakeOverCheck().check(disturbed).violations()).isEmpty();
    }

    @Test
    void wakeUp() {
        Operation held = released(claim(0, OpKind.LOCK, 1, 0, 100, 1_000), 1_001);
        Operation soon = released(claim(1, OpKind.LOCK, 2, 500, 1_010, 1_100), 1_101);
        assertThat(found(new WakeUpCheck(), held, soon)).isEmpty();

        Operation late = released(claim(1, OpKind.LOCK, 2, 500, 3_500, 3_600), 3_601);
        assertThat(found(new WakeUpCheck(), held, late)).hasSize(1);

        Operation askedLate = released(claim(1, OpKind.LOCK, 2, 3_400, 3_500, 3_600), 3_601);
        assertThat(found(new WakeUpCheck(), held, askedLate)).isEmpty();

        Evidence busy = evidence(
                List.of(held, late),
                List.of(),
                List.of(new Interval("busy", 1_500 * Claims.MILLI, 2_500 * Claims.MILLI)));
        assertThat(new WakeUpCheck().check(busy).violations()).isEmpty();
    }

    @Test
    void wakeUp_aProcessThatHasJustStartedIsSlow() {
        Operation held = released(claim(0, OpKind.LOCK, 1, 6_000, 6_100, 7_000), 7_001);
        Operation late = released(claim(1, OpKind.LOCK, 2, 6_500, 9_500, 9_600), 9_601);
        assertThat(new WakeUpCheck().check(started(List.of(held, late), 0)).violations())
                .hasSize(1);
        assertThat(new WakeUpCheck().check(started(List.of(held, late), 5_000)).violations())
                .isEmpty();
    }

    /** With a process that starts then. */
    private static Evidence started(List<Operation> operations, long millis) {
        Map<Operation.Process, Long> starts = Map.of(new Operation.Process(1, 0), millis * Claims.MILLI);
        return evidence(new History(operations, starts, Map.of(), List.of(), Map.of()), List.of(), List.of());
    }

    @Test
    void wakeUp_atTheEndOfTheRun() {
        Operation held = released(claim(0, OpKind.LOCK, 1, 96_000, 96_100, 97_000), 97_001);
        assertThat(found(new WakeUpCheck(), held, call(1, OpKind.LOCK, 97_500)))
                .as("waited until the stop at 100 s")
                .hasSize(1);
        assertThat(found(new WakeUpCheck(), held, call(1, OpKind.LOCK, 98_500)))
                .as("did not wait for long")
                .isEmpty();
        Operation gaveUp = call(1, OpKind.TIMED, 97_500);
        gaveUp.failed = 98_500 * Claims.MILLI;
        gaveUp.failure = Outcome.BUSY;
        assertThat(found(new WakeUpCheck(), held, gaveUp)).isEmpty();
        Operation stillHeld = claim(0, OpKind.LOCK, 1, 96_000, 96_100, 99_990);
        assertThat(found(new WakeUpCheck(), stillHeld, call(1, OpKind.LOCK, 97_500)))
                .isEmpty();
    }

    @Test
    void wakeUp_theDeadDoNotWait() {
        Operation held = released(claim(0, OpKind.LOCK, 1, 0, 100, 1_000), 1_001);
        Operation dead = call(1, OpKind.LOCK, 1_015);
        Operation muchLater = released(claim(2, OpKind.LOCK, 2, 49_990, 50_000, 50_100), 50_101);
        Evidence killed = evidence(
                List.of(held, dead, muchLater), List.of(fault(FaultKind.CLIENT_KILL, 1, 1_010, 1_020)), List.of());
        assertThat(new WakeUpCheck().check(killed).violations()).isEmpty();
        assertThat(found(new WakeUpCheck(), held, dead, muchLater)).hasSize(2);
    }

    @Test
    void order() {
        Operation early = call(0, OpKind.LOCK, 0);
        Operation early1 = call(1, OpKind.LOCK, 0);
        Operation first = claim(0, OpKind.FIFO, 2, 11_000, 15_000, 15_100);
        Operation second = claim(1, OpKind.FIFO, 1, 12_000, 13_000, 13_100);
        assertThat(found(new FifoCheck(true), early, early1, first, second)).hasSize(1);
        assertThat(found(new FifoCheck(true), first, second))
                .as("a process's first call")
                .isEmpty();
        Operation after = claim(1, OpKind.FIFO, 3, 12_000, 16_000, 16_100);
        assertThat(found(new FifoCheck(true), early, early1, first, after)).isEmpty();
        Operation closely = claim(1, OpKind.FIFO, 1, 11_100, 13_000, 13_100);
        assertThat(found(new FifoCheck(true), early, early1, first, closely)).isEmpty();
        assertThat(found(new FifoCheck(true), early, early1, call(0, OpKind.FIFO, 11_000), second))
                .as("one that was never served was overtaken as well")
                .hasSize(1);
    }

    @Test
    void losses() {
        Operation twice = claim(1, 0, 1, 5);
        twice.losses = 2;
        assertThat(found(new LossCheck(), twice)).hasSize(1);

        Operation silent = released(claim(1, 0, 1, 5), 20);
        silent.lost = 10 * Claims.MILLI;
        silent.losses = 1;
        assertThat(found(new LossCheck(), silent)).hasSize(1);

        Operation untold = released(claim(1, 0, 1, 5), 2_000);
        untold.invalid = 10 * Claims.MILLI;
        assertThat(found(new LossCheck(), untold)).hasSize(1);

        Operation cutShort = claim(1, 0, 1, 5);
        cutShort.invalid = 10 * Claims.MILLI;
        assertThat(found(new LossCheck(), cutShort)).isEmpty();

        assertThat(found(new LossCheck(), released(claim(1, 0, 1, 5), 6))).isEmpty();
    }

    @Test
    void answers() {
        Operation early = call(0, OpKind.LOCK, 0);
        Operation refused = call(0, OpKind.TIMED, 11_000);
        refused.failed = 12_000 * Claims.MILLI;
        refused.failure = Outcome.UNAVAILABLE;
        assertThat(found(new AnswerCheck(), early, refused)).hasSize(1);
        Evidence disturbed =
                evidence(List.of(early, refused), List.of(fault(FaultKind.NET_CUT, 0, 10_500, 11_500)), List.of());
        assertThat(new AnswerCheck().check(disturbed).violations()).isEmpty();
        refused.failure = Outcome.BUSY;
        assertThat(found(new AnswerCheck(), early, refused)).isEmpty();
    }

    @Test
    void leaks() {
        Evidence evidence = new Evidence(
                new History(List.of(), Map.of(), Map.of(), List.of(), Map.of(new Operation.Process(0, 0), 2L)),
                List.of(),
                Pace.EVEN,
                Map.of(),
                2_000,
                0,
                0,
                List.of("something"));
        assertThat(new LeakCheck().check(evidence).violations()).hasSize(2);
    }

    /** No violation among no case means nothing. */
    @Test
    void withoutACase_nothingIsJudged() {
        Evidence nothing = evidence(List.of(), List.of(), List.of());
        for (Check check : Checks.all(Workload.MUTEX, true)) {
            Result result = check.check(nothing);
            assertThat(result.violations()).isEmpty();
            assertThat(result.isJudged()).as(check.name()).isFalse();
            assertThat(result.notJudged()).as(check.name()).isNotBlank();
        }
        assertThat(new FifoCheck(false).check(nothing).notJudged()).isEqualTo(FifoCheck.NOT_PROMISED);
    }

    @Test
    void withACase_itIsJudged() {
        Operation held = released(claim(1, 0, 1, 20_000), 20_001);
        Operation next = claim(2, 10_000, 20_002, 21_000);
        for (Check check : List.of(
                new OverlapCheck(),
                new TokenCheck(),
                new ClaimOrderCheck(),
                new LinearizabilityCheck(),
                new WakeUpCheck(),
                new AnswerCheck())) {
            assertThat(check.check(evidence(List.of(held, next), List.of(), List.of()))
                            .isJudged())
                    .as(check.name())
                    .isTrue();
        }
    }

    /** Two of four short runs killed no holder of a lock with waiters. */
    @Test
    void takeOver_saysWhyItIsNotJudged() {
        Operation held = claim(0, OpKind.LOCK, 1, 0, 1, 9_900);
        Evidence killed = evidence(List.of(held), List.of(fault(FaultKind.CLIENT_KILL, 0, 10_000, 10_000)), List.of());
        assertThat(new TakeOverCheck().check(killed).notJudged()).contains("1 clients were killed with 1 locks");
        Operation next = claim(1, OpKind.LOCK, 2, 9_000, 12_000, 12_500);
        Evidence taken =
                evidence(List.of(held, next), List.of(fault(FaultKind.CLIENT_KILL, 0, 10_000, 10_000)), List.of());
        assertThat(new TakeOverCheck().check(taken).isJudged()).isTrue();
    }

    private static List<String> found(Check check, Operation... operations) {
        return check.check(evidence(List.of(operations), List.of(), List.of())).violations();
    }
}
