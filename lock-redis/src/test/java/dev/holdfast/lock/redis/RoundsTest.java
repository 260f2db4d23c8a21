package dev.holdfast.lock.redis;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

final class RoundsTest {
    private final Rounds rounds = new Rounds();

    @Test
    void laterRound_hasTheLastWord() {
        rounds.begin("o", 1);
        rounds.begin("o", 2);
        assertThat(rounds.grants("o", 1)).isFalse();
        assertThat(rounds.takesBack("o", 1)).isTrue();
        assertThat(rounds.grants("o", 2)).isTrue();
        rounds.end("o");
        assertThat(rounds.size()).isZero();
    }

    @Test
    void afterAGrant_nothingIsTakenBackUntilTheEnd() {
        rounds.begin("o", 1);
        assertThat(rounds.grants("o", 1)).isTrue();
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
        assertThat(rounds.grants("o", 1)).isFalse();
        assertThat(rounds.size()).isZero();
    }
}
