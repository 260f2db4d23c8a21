package dev.holdfast.lock.redis.internal.redlock;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.LockUnavailableException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** How the answers to one question are counted, and when they are decided. */
final class QuorumVoteTest {
    private final QuorumVote<String> votes = new QuorumVote<>(3);
    private final CompletableFuture<String> decision = new CompletableFuture<>();
    private final List<String> looks = new ArrayList<>();

    private void decide(String result) {
        votes.decide(
                seen -> {
                    looks.add(seen.answers() + " pending " + seen.pending() + " failed " + seen.failed());
                    return result;
                },
                decision,
                "attempt",
                2);
    }

    @Test
    void answers_areCountedOnceForEachMaster_inTheirPlaces() {
        RuntimeException failure = new IllegalStateException("no answer, made up by the test");
        votes.add(2, "yes", null);
        votes.add(2, "no", null);
        votes.add(0, null, failure);
        votes.add(0, "yes", null);

        assertThat(votes.answer(0)).isNull();
        assertThat(votes.answer(1)).isNull();
        assertThat(votes.answer(2)).isEqualTo("yes");
        assertThat(votes.answers()).containsExactly("yes");
        assertThat(votes.count("yes"::equals)).isEqualTo(1);
        assertThat(votes.count("no"::equals)).isZero();
        assertThat(votes.pending()).isEqualTo(1);
        assertThat(votes.failed()).isEqualTo(1);
        assertThat(votes.failure()).isSameAs(failure);
    }

    @Test
    void rule_isAskedUntilItHasDecided() {
        votes.add(0, "yes", null);
        decide(null);
        assertThat(decision).isNotDone();
        votes.add(1, "yes", null);
        decide("granted");
        assertThat(decision).isCompletedWithValue("granted");
        votes.add(2, "no", null);
        decide("refused");
        assertThat(decision).isCompletedWithValue("granted");
        assertThat(looks).containsExactly("[yes] pending 2 failed 0", "[yes, yes] pending 1 failed 0");
    }

    @Test
    void withoutADecision_theLastAnswerEndsIt_withTheLastFailureAsCause() {
        RuntimeException failure = new IllegalStateException("no answer, made up by the test");
        votes.add(0, "yes", null);
        votes.add(1, null, failure);
        decide(null);
        assertThat(decision).isNotDone();
        votes.add(2, "no", null);
        decide(null);
        assertThat(decision)
                .failsWithin(Duration.ZERO)
                .withThrowableThat()
                .havingCause()
                .isInstanceOf(LockUnavailableException.class)
                .withMessage(
                        "attempt: no majority of 2 of 3 Redlock masters answered alike; the outcome is unknown, try again")
                .withCause(failure);
        decide("granted");
        assertThat(looks).hasSize(2);
    }

    @Test
    void ruleThatThrows_hasDecided() {
        votes.decide(
                seen -> {
                    throw new IllegalStateException("refused, made up by the test");
                },
                decision,
                "attempt",
                2);
        assertThat(decision)
                .failsWithin(Duration.ZERO)
                .withThrowableThat()
                .withMessageContaining("refused, made up by the test");
        decide("granted");
        assertThat(looks).isEmpty();
    }

    @Test
    void ruleWithoutMemory_hasDecided() {
        votes.decide(
                seen -> {
                    throw new OutOfMemoryError("on purpose");
                },
                decision,
                "attempt",
                2);
        assertThat(decision)
                .failsWithin(Duration.ZERO)
                .withThrowableThat()
                .withRootCauseInstanceOf(OutOfMemoryError.class);
    }

    @Test
    void late_looksAgainOnce_afterTheFirstTimeThatWasAskedFor() {
        List<Boolean> told = new CopyOnWriteArrayList<>();
        votes.onLate(() -> told.add(votes.isLate()));
        assertThat(votes.isLate()).isFalse();
        votes.lateAfter(1);
        votes.lateAfter(2);
        // By the same thread, which does in order what is due.
        CompletableFuture.runAsync(
                        () -> {}, CompletableFuture.delayedExecutor(10, TimeUnit.MILLISECONDS, Runnable::run))
                .join();
        assertThat(told).containsExactly(true);
    }
}
