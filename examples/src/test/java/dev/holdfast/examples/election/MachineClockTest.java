package dev.holdfast.examples.election;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** A clock that was set makes times of several processes incomparable. */
final class MachineClockTest {
    private final MachineClock clock = new MachineClock();

    @Test
    void evenClock_hasNoFault() {
        clock.note(100_000, 100_020, 10);
        clock.note(100_000, 60_000, 50_000);
        assertThat(clock.fault())
                .as("the second time, the process paused between the readings")
                .isEmpty();
    }

    @Test
    void clockThatWasSet_isNoticed() {
        clock.note(-400_000, 100_000, 10);
        clock.note(100_000, 100_000, 10);
        assertThat(clock.fault().orElseThrow()).contains("0.500 s");
    }

    @Test
    void suspendedMachine_isNoticed() {
        clock.note(60_100_000, 100_000, 10);
        assertThat(clock.fault().orElseThrow()).contains("60.000 s");
    }
}
