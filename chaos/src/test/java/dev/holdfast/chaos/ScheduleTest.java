package dev.holdfast.chaos;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.chaos.fault.Fault;
import dev.holdfast.chaos.fault.FaultKind;
import dev.holdfast.chaos.fault.Profile;
import dev.holdfast.chaos.fault.Schedule;
import java.util.List;
import org.junit.jupiter.api.Test;

final class ScheduleTest {

    @Test
    void sameSeed_sameFaults() {
        List<Fault> one = Schedule.draw(7, 300_000, Profile.full(2_000));
        assertThat(Schedule.draw(7, 300_000, Profile.full(2_000))).isEqualTo(one);
        assertThat(Schedule.draw(8, 300_000, Profile.full(2_000))).isNotEqualTo(one);
    }

    @Test
    void fiveMinutes_haveFaultsOfAllKinds() {
        List<Fault> faults =
                Schedule.draw(7, 1_800_000, Profile.full(2_000).withMoves().withLateAndCutOff());
        assertThat(faults.stream().map(Fault::kind).distinct()).containsExactlyInAnyOrder(FaultKind.values());
        assertThat(faults).allMatch(fault -> fault.atMillis() + fault.durationMillis() <= 1_800_000);
    }
}
