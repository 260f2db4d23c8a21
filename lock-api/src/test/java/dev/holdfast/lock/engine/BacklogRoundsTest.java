package dev.holdfast.lock.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

/** When a client's removals are retried, in which order, and how many at a time. */
class BacklogRoundsTest {
    private final HandledBacklog it = new HandledBacklog(false);

    private void refuseAll() {
        it.answer = request -> request.answered().accept(OutageBackend.noPermission());
    }

    private void failAll() {
        it.answer = request -> request.answered().accept(OutageBackend.unreachable());
    }

    private void confirmAll() {
        it.answer = request -> request.answered().accept(null);
    }

    @Test
    void newest_isSentFirst_andWhatFailsIsTriedAgainBehindTheOthers() {
        failAll();
        it.add(12, Removal.Kind.ABANDON);
        it.pass(60);
        assertThat(it.names())
                .containsExactly(
                        "n11", "n10", "n9", "n8", "n7", "n6", "n5", "n4", // the first round
                        "n3", "n2", "n1", "n0", "n11", "n10", "n9", "n8");
    }

    @Test
    void rounds_areSmallWhileTheyFail_thenEachTwiceAsLarge() {
        failAll();
        it.add(300, Removal.Kind.ABANDON);
        it.pass(1_000);
        assertThat(it.roundSizes()).hasSizeBetween(4, 8).containsOnly(RoundPace.MIN_SIZE);
        assertThat(it.backlog.isDown()).isTrue();
        it.sent.clear();
        confirmAll();
        it.pass(1_000);
        assertThat(it.roundSizes()).containsExactly(8, 16, 32, 64, 64, 64, 52);
        assertThat(it.backlog.size()).isZero();
        assertThat(it.backlog.isDown()).isFalse();
    }

    /** From 25 to 50 ms, doubling up to a second. */
    @Test
    void pausesBetweenRounds_double_whileNothingIsConfirmed() {
        failAll();
        it.add(1, Removal.Kind.ABANDON);
        it.pass(5_000);
        List<Long> times = it.times();
        assertThat(times).hasSizeGreaterThan(7);
        for (int i = 0; i < 7; i++) {
            long most = Math.min(1_000, 50L << i);
            assertThat(times.get(i + 1) - times.get(i)).as("pause %d", i + 1).isBetween(most / 2 - 1, most);
        }
    }

    /** A single removal is due exactly when its pause is over. */
    @Test
    void refusedOne_isTriedAfterASecond_thenTwiceAsLong_upToHalfAMinute() {
        refuseAll();
        it.backlog.add(it.abandonment("n"), OutageBackend.noPermission());
        it.pass(130_000);
        assertThat(it.times()).containsExactly(1_000L, 3_000L, 7_000L, 15_000L, 31_000L, 61_000L, 91_000L, 121_000L);
    }

    @Test
    void eachRefusedOne_isTriedWhenItIsDue_notWithTheOthers() {
        refuseAll();
        it.backlog.add(it.abandonment("a"), OutageBackend.noPermission());
        it.pass(600);
        it.backlog.add(it.abandonment("b"), OutageBackend.noPermission());
        it.pass(2_000);
        assertThat(it.names()).containsExactly("a", "b");
        assertThat(it.times().get(0)).isEqualTo(1_000);
        assertThat(it.times().get(1)).as("due at 1.6 s, or with its batch").isBetween(1_600L, 1_700L);
    }

    @Test
    void newOne_isTriedAtOnce_andSetsTheTimerForward() {
        confirmAll();
        it.backlog.add(it.abandonment("refused"), OutageBackend.noPermission());
        it.pass(200);
        it.backlog.add(it.abandonment("new"));
        assertThat(it.openTimers).as("one replaces the other").isEqualTo(1);
        it.pass(0);
        assertThat(it.names()).containsExactly("new");
        it.pass(10_000);
        assertThat(it.names()).containsExactly("new", "refused");
        assertThat(it.times()).containsExactly(200L, 1_000L);
        assertThat(it.openTimers).isZero();
    }

    @Test
    void oneRound_isUnderWayAtATime_untilAllOfItIsAnswered() {
        it.add(3, Removal.Kind.ABANDON);
        it.pass(0);
        it.backlog.add(it.abandonment("next"));
        assertThat(it.openTimers).as("no batch is scheduled").isZero();
        List<HandledBacklog.Sent> round = List.copyOf(it.sent);
        assertThat(round).hasSize(3);
        round.get(0).answered().accept(null);
        round.get(0).answered().accept(OutageBackend.unreachable()); // added twice, counted once
        round.get(0).answered().accept(null);
        round.get(1).answered().accept(null);
        it.pass(10_000);
        assertThat(it.sent).hasSize(3);
        assertThat(it.backlog.size()).isEqualTo(2);
        round.get(2).answered().accept(null);
        it.pass(0);
        assertThat(it.names()).containsExactly("n2", "n1", "n0", "next");
        assertThat(it.backlog.size()).isEqualTo(1);
    }

    @Test
    void timerThatRunsAlthoughItWasClosed_beginsNoSecondRound() {
        it.timersRunAlthoughClosed = true;
        it.backlog.add(it.abandonment("refused"), OutageBackend.noPermission());
        it.pass(200);
        it.backlog.add(it.abandonment("slow"));
        it.pass(2_000);
        assertThat(it.names()).as("the timer for the refused one has run").containsExactly("slow");
        it.sent.get(0).answered().accept(null);
        it.pass(0);
        assertThat(it.names()).containsExactly("slow", "refused");
    }
}
