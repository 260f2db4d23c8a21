package dev.holdfast.lock.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class BackOffTest {
    @Test
    void pauses_doubleUpTo32Times() {
        BackOff backOff = new BackOff(Duration.ofSeconds(1));
        for (int seconds = 1; seconds <= 32; seconds *= 2) {
            assertThat(backOff.next(Duration.ZERO)).hasSeconds(seconds);
        }
        assertThat(backOff.next(Duration.ZERO)).hasSeconds(32);
    }

    @Test
    void commandThatRanForLongerThanTheLastPause_makesTheNextOneShort() {
        BackOff backOff = new BackOff(Duration.ofSeconds(1));
        backOff.next(Duration.ZERO);
        backOff.next(Duration.ZERO);

        assertThat(backOff.next(Duration.ofSeconds(3))).hasSeconds(1);
        assertThat(backOff.next(Duration.ZERO)).hasSeconds(2);
    }

    @Test
    void enormousPause_isCapped() {
        BackOff backOff = new BackOff(Duration.ofSeconds(Long.MAX_VALUE));

        assertThat(backOff.next(Duration.ZERO)).hasDays(30);
        assertThat(backOff.next(Duration.ZERO)).hasDays(30);
    }
}
