package dev.holdfast.lock.redis.internal.script;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.redis.internal.script.AttemptGenerations.Verdict;
import org.junit.jupiter.api.Test;

final class AttemptGenerationsTest {
    private final AttemptGenerations generations = new AttemptGenerations();

    @Test
    void laterGeneration_hasTheLastWord() {
        generations.begin("o", 1);
        generations.begin("o", 2);
        assertThat(generations.grants("o", 1)).isEqualTo(Verdict.OVERTAKEN);
        assertThat(generations.takesBack("o", 1)).isTrue();
        assertThat(generations.grants("o", 2)).isEqualTo(Verdict.GRANTED);
        generations.end("o");
        assertThat(generations.size()).isZero();
    }

    @Test
    void afterAGrant_nothingIsTakenBackUntilTheEnd() {
        generations.begin("o", 1);
        assertThat(generations.grants("o", 1)).isEqualTo(Verdict.GRANTED);
        generations.begin("o", 2);
        assertThat(generations.takesBack("o", 2)).isFalse();
        generations.end("o");
        generations.begin("o", 3);
        assertThat(generations.takesBack("o", 3)).isTrue();
        assertThat(generations.size()).isZero();
    }

    @Test
    void afterTheLaterGenerationHasTakenBack_theEarlierOneDoesNotGrant() {
        generations.begin("o", 1);
        generations.begin("o", 2);
        assertThat(generations.takesBack("o", 2)).isTrue();
        assertThat(generations.grants("o", 1)).isEqualTo(Verdict.ENDED);
        assertThat(generations.size()).isZero();
    }

    /** Several attempts of one acquisition: what is taken back is the first one's, while the second is made. */
    @Test
    void takenBackUpToAGeneration_theNextGenerationStillGrants() {
        generations.begin("o", 1);
        assertThat(generations.grants("o", 1)).isEqualTo(Verdict.GRANTED);
        generations.begin("o", 2);
        generations.end("o", 1);
        assertThat(generations.grants("o", 2)).isEqualTo(Verdict.GRANTED);
        generations.end("o", 1);
        generations.begin("o", 3);
        assertThat(generations.takesBack("o", 3)).isFalse();
        generations.end("o", 3);
        assertThat(generations.size()).isZero();
    }

    /** The generation itself belongs to what is taken back: a later attempt grants, but may also take back. */
    @Test
    void takenBackUpToTheGenerationThatGranted_theLaterOneHasNoGrantBehindIt() {
        generations.begin("o", 1);
        assertThat(generations.grants("o", 1)).isEqualTo(Verdict.GRANTED);
        generations.begin("o", 2);
        generations.end("o", 1);
        assertThat(generations.size()).isEqualTo(1);
        assertThat(generations.takesBack("o", 2)).isTrue();
        assertThat(generations.size()).isZero();
    }

    @Test
    void afterTheEnd_aGrantIsNobodys() {
        generations.begin("o", 1);
        generations.end("o");
        assertThat(generations.grants("o", 1)).isEqualTo(Verdict.ENDED);
        assertThat(generations.takesBack("o", 1)).isTrue();
        assertThat(generations.size()).isZero();
    }
}
