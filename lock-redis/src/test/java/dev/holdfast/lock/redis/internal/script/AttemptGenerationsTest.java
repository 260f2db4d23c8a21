package dev.holdfast.lock.redis.internal.script;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.redis.internal.script.AttemptGenerations.Verdict;
import org.junit.jupiter.api.Test;

final class AttemptGenerationsTest {
    private final AttemptGenerations rounds = new AttemptGenerations();

    @Test
    void laterRound_hasTheLastWord() {
        rounds.begin("o", 1);
        rounds.begin("o", 2);
        assertThat(rounds.grants("o", 1)).isEqualTo(Verdict.OVERTAKEN);
        assertThat(rounds.takesBack("o", 1)).isTrue();
        assertThat(rounds.grants("o", 2)).isEqualTo(Verdict.GRANTED);
        rounds.end("o");
        assertThat(rounds.size()).isZero();
    }

    @Test
    void afterAGrant_nothingIsTakenBackUntilTheEnd() {
        rounds.begin("o", 1);
        assertThat(rounds.grants("o", 1)).isEqualTo(Verdict.GRANTED);
        rounds.begin("o", 2);
        assertThat(rounds.takesBack("o", 2)).isFalse();
        rounds.end("o");
        rounds.begin("o", 3);
        assertThat(rounds.takesBack("o", 3)).isTrue();
        assertThat(rounds.size()).isZero();
    }

    @Test
    void afterTheLaterRoundHasTakenBack_theEarlierOneDoesNotGrant() {
        rounds.begin("o", 1);
        rounds.begin("o", 2);
        assertThat(rounds.takesBack("o", 2)).isTrue();
        assertThat(rounds.grants("o", 1)).isEqualTo(Verdict.ENDED);
        assertThat(rounds.size()).isZero();
    }

    /** Several attempts of one acquisition: what is taken back is the first one's, while the second is made. */
    @Test
    void takenBackUpToARound_theNextRoundStillGrants() {
        rounds.begin("o", 1);
        assertThat(rounds.grants("o", 1)).isEqualTo(Verdict.GRANTED);
        rounds.begin("o", 2);
        rounds.end("o", 1);
        assertThat(rounds.grants("o", 2)).isEqualTo(Verdict.GRANTED);
        rounds.end("o", 1);
        rounds.begin("o", 3);
        assertThat(rounds.takesBack("o", 3)).isFalse();
        rounds.end("o", 3);
        assertThat(rounds.size()).isZero();
    }

    /** The round itself belongs to what is taken back: a later attempt grants, but may also take back. */
    @Test
    void takenBackUpToTheRoundThatGranted_theLaterOneHasNoGrantBehindIt() {
        rounds.begin("o", 1);
        assertThat(rounds.grants("o", 1)).isEqualTo(Verdict.GRANTED);
        rounds.begin("o", 2);
        rounds.end("o", 1);
        assertThat(rounds.size()).isEqualTo(1);
        assertThat(rounds.takesBack("o", 2)).isTrue();
        assertThat(rounds.size()).isZero();
    }

    @Test
    void afterTheEnd_aGrantIsNobodys() {
        rounds.begin("o", 1);
        rounds.end("o");
        assertThat(rounds.grants("o", 1)).isEqualTo(Verdict.ENDED);
        assertThat(rounds.takesBack("o", 1)).isTrue();
        assertThat(rounds.size()).isZero();
    }
}
