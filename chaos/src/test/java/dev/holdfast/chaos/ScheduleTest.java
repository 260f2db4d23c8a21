package dev.holdfast.chaos;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.chaos.fault.Fault;
import dev.holdfast.chaos.fault.FaultKind;
import dev.holdfast.chaos.fault.Profile;
import dev.holdfast.chaos.fault.Schedule;
import java.util.List;
import java.util.stream.Stream;
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
        assertThat(faults.stream().map(Fault::kind).distinct())
                .containsExactlyInAnyOrderElementsOf(Stream.of(FaultKind.values())
                        .filter(kind -> !kind.isDrawnIfNamed()) // these are drawn when they are asked for
                        .toList());
        assertThat(faults).allMatch(fault -> fault.atMillis() + fault.durationMillis() <= 1_800_000);
    }

    @Test
    void kindsThatAreAskedFor_areDrawn_andNoOthers() {
        List<Fault> faults = Schedule.draw(7, 600_000, Profile.full(2_000).with("PEER_CUT,PEER_CUT_ONE_WAY,SLOW_DISK"));
        assertThat(faults.stream().map(Fault::kind).distinct())
                .containsExactlyInAnyOrder(FaultKind.PEER_CUT, FaultKind.PEER_CUT_ONE_WAY, FaultKind.SLOW_DISK);
    }
}
