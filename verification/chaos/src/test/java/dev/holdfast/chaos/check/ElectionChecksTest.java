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
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Each check of elections passes what is right and finds what is wrong. */
final class ElectionChecksTest {

    private static Operation term(int client, long token, long acquired, long confirmed) {
        return claim(client, OpKind.LOCK, token, 0, acquired, confirmed);
    }

    private static Operation revoked(Operation term, long at) {
        term.revocations++;
        return released(term, at);
    }

    private static Operation lost(Operation term, long told, long released) {
        term.told = told * MILLI;
        revoked(term, released).releaseOutcome = Outcome.LOST;
        return term;
    }

    private static List<String> found(Check check, Operation... operations) {
        return check.check(evidence(List.of(operations), List.of(), List.of())).violations();
    }

    private static List<String> foundAtTheEnd(Operation... operations) {
        History history = new History(
                List.of(operations), Map.of(), Map.of(), List.of(), Map.of(new Operation.Process(0, 0), 0L));
        return new CallbackCheck()
                .check(evidence(history, List.of(), List.of()))
                .violations();
    }

    @Test
    void twoLeaders_areFound() {
        assertThat(found(new OverlapCheck(), term(0, 1, 100, 900), term(1, 2, 800, 2_000)))
                .hasSize(1);
        assertThat(found(new OverlapCheck(), term(0, 1, 100, 900), term(1, 2, 901, 2_000)))
                .isEmpty();
    }

    @Test
    void callbacks_oneRevocationForEachElection() {
        assertThat(foundAtTheEnd(revoked(term(0, 1, 100, 900), 950), revoked(term(0, 2, 1_100, 1_900), 1_950)))
                .isEmpty();
        assertThat(foundAtTheEnd(revoked(revoked(term(0, 1, 100, 900), 950), 960)))
                .as("twice")
                .hasSize(1);
        assertThat(foundAtTheEnd(revoked(call(0, OpKind.LOCK, 1_000), 1_100)))
                .as("never elected")
                .hasSize(1);
        assertThat(foundAtTheEnd(term(0, 1, 100, 900))).as("never revoked").hasSize(1);
        assertThat(foundAtTheEnd(term(0, 1, 100, 900), revoked(term(0, 2, 1_100, 1_900), 1_950)))
                .as("elected again before it was revoked")
                .hasSize(1);
        Operation together = revoked(term(0, 1, 100, 900), 950);
        together.together = 1;
        assertThat(foundAtTheEnd(together)).as("two callbacks at once").hasSize(1);
    }

    @Test
    void callbacks_ofAProcessThatWasKilled() {
        assertThat(found(new CallbackCheck(), term(0, 1, 100, 900))).isEmpty();
    }

    @Test
    void told_beforeTheNextIsElected() {
        Operation next = term(1, 2, 10_000, 11_000);
        assertThat(found(new LossNotificationCheck(), lost(term(0, 1, 5_000, 9_000), 9_300, 9_310), next))
                .isEmpty();
        assertThat(found(new LossNotificationCheck(), lost(term(0, 1, 5_000, 9_900), 10_200, 10_210), next))
                .as("after")
                .hasSize(1);
        assertThat(found(new LossNotificationCheck(), revoked(term(0, 1, 5_000, 9_900), 9_990), next))
                .as("resigned")
                .isEmpty();
    }

    @Test
    void told_soonAfterTheEnd() {
        Operation late = lost(term(0, 1, 5_000, 8_000), 8_700, 8_710);
        late.invalid = 8_100 * MILLI;
        assertThat(found(new LossNotificationCheck(), late)).hasSize(1);
        late.invalid = 8_650 * MILLI;
        assertThat(found(new LossNotificationCheck(), late)).isEmpty();
    }

    /** No other one can be elected before its lease has ended: so it has the time to stop that elections promise. */
    @Test
    void told_aThirdOfTheLeaseBeforeTheEnd_whenItIsCutOff() {
        Operation next = term(1, 2, 10_000, 11_000);
        Injection cut = fault(FaultKind.NET_BLACK_HOLE, 0, 8_000, 11_000);
        Operation inTime = lost(term(0, 1, 5_000, 9_000), 9_300, 9_310);
        Operation atTheEnd = lost(term(0, 1, 5_000, 9_900), 9_950, 9_960);
        assertThat(new LossNotificationCheck()
                        .check(evidence(List.of(inTime, next), List.of(cut), List.of()))
                        .violations())
                .isEmpty();
        assertThat(new LossNotificationCheck()
                        .check(evidence(List.of(atTheEnd, next), List.of(cut), List.of()))
                        .violations())
                .hasSize(1);
        assertThat(found(new LossNotificationCheck(), atTheEnd, next))
                .as("it may have released its lock, which the next one got")
                .isEmpty();
        Injection over = fault(FaultKind.NET_BLACK_HOLE, 0, 8_000, 9_990);
        assertThat(new LossNotificationCheck()
                        .check(evidence(List.of(atTheEnd, next), List.of(over), List.of()))
                        .violations())
                .as("likewise")
                .isEmpty();
        Interval pause = new Interval("paused", 9_000 * MILLI, 9_600 * MILLI);
        assertThat(new LossNotificationCheck()
                        .check(evidence(List.of(atTheEnd, next), List.of(cut), List.of(pause)))
                        .violations())
                .as("it stood still")
                .isEmpty();
    }

    @Test
    void told_leastTimes_orNone() {
        Operation next = term(1, 2, 10_000, 11_000);
        Operation first = lost(term(0, 1, 5_000, 9_000), 9_300, 9_310);
        Injection cut = fault(FaultKind.NET_BLACK_HOLE, 0, 8_000, 11_000);
        assertThat(new LossNotificationCheck()
                        .check(evidence(List.of(first, next), List.of(cut), List.of()))
                        .facts())
                .containsEntry("least ms left", 700L)
                .containsEntry("then least ms", 700L);
        assertThat(new LossNotificationCheck()
                        .check(evidence(List.of(first), List.of(), List.of()))
                        .facts())
                .as("nobody was elected after it")
                .containsEntry("told of a loss", 1L)
                .containsEntry("least ms left", "none")
                .containsEntry("then least ms", "none");
    }

    /** A process that was paused is notified after the pause; only its claim counts. */
    @Test
    void told_afterAPause() {
        Operation paused = lost(term(0, 1, 5_000, 6_000), 10_200, 10_210);
        Operation next = term(1, 2, 10_000, 11_000);
        Interval pause = new Interval("paused", 6_000 * MILLI, 10_199 * MILLI);
        assertThat(new LossNotificationCheck()
                        .check(evidence(List.of(paused, next), List.of(), List.of(pause)))
                        .violations())
                .isEmpty();
    }

    @Test
    void electedAgain_afterADeath() {
        Operation dead = term(0, 1, 10_000, 19_900);
        Injection kill = fault(FaultKind.CLIENT_KILL, 0, 20_000, 20_000);
        Operation next = claim(1, OpKind.LOCK, 2, 15_000, 22_000, 25_000);
        Result soon = new ElectedAgainCheck().check(evidence(List.of(dead, next), List.of(kill), List.of()));
        assertThat(soon.violations()).isEmpty();
        assertThat(soon.facts()).containsEntry("max ms", 2_000L);

        Operation late = claim(1, OpKind.LOCK, 2, 15_000, 28_000, 29_000);
        assertThat(new ElectedAgainCheck()
                        .check(evidence(List.of(dead, late), List.of(kill), List.of()))
                        .violations())
                .hasSize(1);
        assertThat(new ElectedAgainCheck()
                        .check(evidence(List.of(dead, call(1, OpKind.LOCK, 15_000)), List.of(kill), List.of()))
                        .violations())
                .as("never")
                .hasSize(1);
        Injection cut = fault(FaultKind.NET_CUT, 1, 21_000, 22_000);
        assertThat(new ElectedAgainCheck()
                        .check(evidence(List.of(dead, late), List.of(kill, cut), List.of()))
                        .isJudged())
                .as("disturbed")
                .isFalse();
    }

    @Test
    void electedAgain_afterAResignation() {
        Operation resigned = revoked(term(0, 1, 10_000, 19_900), 20_000);
        Operation late = claim(1, OpKind.LOCK, 2, 15_000, 24_000, 25_000);
        assertThat(found(new ElectedAgainCheck(), resigned, late)).hasSize(1);
        Operation soon = claim(1, OpKind.LOCK, 2, 15_000, 20_500, 25_000);
        assertThat(found(new ElectedAgainCheck(), resigned, soon)).isEmpty();
    }

    /** A busy machine excuses who is late; who is in time nevertheless is a case. */
    @Test
    void onABusyMachine() {
        Interval busy = new Interval("busy", 0, 90_000 * MILLI);
        Operation dead = term(0, 1, 10_000, 19_900);
        Injection kill = fault(FaultKind.CLIENT_KILL, 0, 20_000, 20_000);
        Operation soon = claim(1, OpKind.LOCK, 2, 15_000, 22_000, 25_000);
        assertThat(new ElectedAgainCheck()
                        .check(evidence(List.of(dead, soon), List.of(kill), List.of(busy)))
                        .isJudged())
                .isTrue();
        Operation late = claim(1, OpKind.LOCK, 2, 15_000, 28_000, 29_000);
        Result excused = new ElectedAgainCheck().check(evidence(List.of(dead, late), List.of(kill), List.of(busy)));
        assertThat(excused.violations()).isEmpty();
        Operation next = term(1, 2, 10_000, 11_000);
        Operation told = lost(term(0, 1, 5_000, 9_000), 9_300, 9_310);
        assertThat(new LossNotificationCheck()
                        .check(evidence(List.of(told, next), List.of(), List.of(busy)))
                        .isJudged())
                .isTrue();
    }

    /** A candidate that has yielded, failed or lost its lease does not stand for a while. */
    @Test
    void electedAgain_whoRestsDoesNotStand() {
        Operation resigned = revoked(term(0, 1, 10_000, 19_900), 20_000);
        Operation rests = claim(1, OpKind.LOCK, 2, 15_000, 24_000, 25_000);
        rests.rests = 8_000 * MILLI;
        assertThat(found(new ElectedAgainCheck(), resigned, rests)).isEmpty();
    }
}
